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
    assert(commit > 0 && eventCount > 0, "a commit has a number and an event")
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
    let later = (0..<runs.count).partitionPoint { runs[$0].sequence > sequence }
    guard later > 0 else { return 0 }
    let run = runs[later - 1]
    // Most streams have one event per commit, and a division costs more than the search.
    guard run.eventsPerCommit > 1 else { return run.commit &+ (sequence - run.sequence) }
    return run.commit &+ (sequence - run.sequence) / run.eventsPerCommit
  }

  func loadAll() { runs.loadAll() }
}

/// The commits of other streams that the commits of one stream had seen. Each entry is stored with the commit that introduced it.
struct SeenCommits: Sendable {
  struct Entry: BitwiseCopyable {
    /// A commit of the stream itself.
    let commit: UInt64
    /// The commit of the other stream that it had seen.
    let seen: UInt64
  }

  /// By the other replica. Both numbers of the entries ascend.
  private(set) var entries: [ReplicaSlot: PagedTable<Entry>] = [:]

  init() {}

  /// Creates the entries from a snapshot.
  init(_ entries: [ReplicaSlot: PagedTable<Entry>]) { self.entries = entries }

  var replicas: some Collection<ReplicaSlot> { entries.keys }

  /// Records that `commit` had seen `seen` of `other`.
  mutating func note(_ commit: UInt64, saw seen: UInt64, of other: ReplicaSlot) {
    let new = Entry(commit: commit, seen: seen)
    let list = entries[other] ?? PagedTable()
    var index = list.count
    while index > 0, list[index - 1].commit >= commit { index -= 1 }
    entries[other, default: PagedTable()].insert(new, at: index)
  }

  /// Returns the range of commits around `commit` that had seen the same commits of all others, according to the stream itself.
  func span(around commit: UInt64) -> Range<UInt64> {
    var lower: UInt64 = 0
    var upper = UInt64.max
    for list in entries.values {
      let later = Self.index(behind: commit, in: list)
      if later > 0 { lower = max(lower, list[later - 1].commit) }
      if later < list.count { upper = min(upper, list[later].commit) }
    }
    // Only a malformed snapshot has entries that do not ascend.
    return lower..<max(lower, upper)
  }

  /// Returns the last commit of `other` that the stream had seen by `commit`, according to the stream itself; 0 for none.
  func seen(of other: ReplicaSlot, by commit: UInt64) -> UInt64 {
    guard let entries = entries[other], entries.count > 0 else { return 0 }
    let last = entries[entries.count - 1]
    if last.commit <= commit { return last.seen }
    let later = Self.index(behind: commit, in: entries)
    return later == 0 ? 0 : entries[later - 1].seen
  }

  /// Returns the index of the first entry that a later commit introduced.
  private static func index(behind commit: UInt64, in entries: PagedTable<Entry>) -> Int {
    (0..<entries.count).partitionPoint { entries[$0].commit > commit }
  }

  func loadAll() { for list in entries.values { list.loadAll() } }
}
