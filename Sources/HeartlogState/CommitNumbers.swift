import HeartlogFormat

/// Maps the sequence number of an event to its commit, for one stream. Stores runs of commits with the same number of events.
struct CommitNumbers: Sendable {
  struct Run: BitwiseCopyable {
    let commit: UInt64
    let sequence: UInt64
    let eventsPerCommit: UInt64
  }

  /// Runs of the stream's commits in order, without a gap.
  private(set) var runs = PagedTable<Run>()
  /// The next commit, if it follows the last one directly.
  private(set) var next: (commit: UInt64, sequence: UInt64) = (1, 1)
  private var last: UInt64?

  init() {}

  /// Creates the numbers from a snapshot.
  init(_ runs: PagedTable<Run>, next: (commit: UInt64, sequence: UInt64)) {
    self.runs = runs
    self.next = next
    last = runs.count > 0 ? runs[runs.count - 1].eventsPerCommit : nil
  }

  /// Appends the stream's next commit.
  @inline(__always)
  mutating func append(_ commit: UInt64, firstSequence: UInt64, eventCount: Int) {
    let count = UInt64(eventCount)
    if last != count || (commit, firstSequence) != next {
      runs.append(Run(commit: commit, sequence: firstSequence, eventsPerCommit: count))
      last = count
    }
    next = (commit + 1, firstSequence &+ count)
  }

  /// Appends the stream's next commits.
  ///
  /// - Parameter eventStarts: the index of the first event of each commit, relative to any origin, followed by the end of the last commit.
  mutating func append(from commit: UInt64, firstSequence: UInt64, eventStarts: Span<Int32>) {
    var index = 0
    let end = eventStarts.count - 1
    while index < end {
      let eventCount = eventStarts[index + 1] - eventStarts[index]
      var next = index + 1
      while next < end, eventStarts[next + 1] - eventStarts[next] == eventCount { next += 1 }
      append(
        commit + UInt64(index), firstSequence: firstSequence + UInt64(eventStarts[index] - eventStarts[0]),
        eventCount: Int(eventCount))
      self.next = (
        commit + UInt64(next), firstSequence + UInt64(eventStarts[next] - eventStarts[0])
      )
      index = next
    }
  }

  /// Returns the commit of an event that was appended.
  func commit(of sequence: UInt64) -> UInt64 {
    var low = 0
    var high = runs.count
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].sequence <= sequence { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return 0 }
    let run = runs[low - 1]
    // Most streams have one event per commit, and a division costs more than the search.
    guard run.eventsPerCommit > 1 else { return run.commit &+ (sequence - run.sequence) }
    return run.commit &+ (sequence - run.sequence) / run.eventsPerCommit
  }

  func loadAll() { runs.loadAll() }
}
