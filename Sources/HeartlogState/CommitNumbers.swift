import HeartlogEvents

/// Which commit of a stream an event belongs to, by its sequence number: runs of commits with equally many events.
struct CommitNumbers: Sendable {
  struct Run: BitwiseCopyable {
    let commit: UInt64
    let sequence: UInt64
    let eventsPerCommit: UInt64
  }

  /// Commits of a stream without a gap, in order.
  private(set) var runs = PagedTable<Run>()
  /// What the next commit is, if it follows the last one.
  private(set) var next: (commit: UInt64, sequence: UInt64) = (1, 1)
  private var last: UInt64?

  init() {}

  /// Those of a snapshot.
  init(_ runs: PagedTable<Run>, next: (commit: UInt64, sequence: UInt64)) {
    self.runs = runs
    self.next = next
    last = runs.count > 0 ? runs[runs.count - 1].eventsPerCommit : nil
  }

  /// Takes the stream's next commit.
  @inline(__always)
  mutating func append(_ commit: UInt64, firstSequence: UInt64, eventCount: Int) {
    let count = UInt64(eventCount)
    if last != count || (commit, firstSequence) != next {
      runs.append(Run(commit: commit, sequence: firstSequence, eventsPerCommit: count))
      last = count
    }
    next = (commit + 1, firstSequence &+ count)
  }

  /// The commit of an event that was appended.
  func commit(of sequence: UInt64) -> UInt64 {
    var low = 0
    var high = runs.count
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].sequence <= sequence { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return 0 }
    let run = runs[low - 1]
    // Most streams have one event a commit, and a division costs more than the search.
    guard run.eventsPerCommit > 1 else { return run.commit &+ (sequence - run.sequence) }
    return run.commit &+ (sequence - run.sequence) / run.eventsPerCommit
  }

  func loadAll() { runs.loadAll() }
}
