import HeartlogEvents

/// Which commit of a stream an event belongs to, by its sequence number: runs of commits with equally many events.
struct CommitNumbers: Sendable {
  private struct Run: Sendable {
    let commit: UInt64
    let sequence: UInt64
    let eventsPerCommit: UInt64
  }

  /// Commits of a stream without a gap, in order.
  private var runs: [Run] = []
  private var next: (commit: UInt64, sequence: UInt64) = (1, 1)

  /// Takes the stream's next commit.
  mutating func append(_ commit: UInt64, firstSequence: UInt64, eventCount: Int) {
    let count = UInt64(eventCount)
    if runs.last?.eventsPerCommit != count || (commit, firstSequence) != next {
      runs.append(Run(commit: commit, sequence: firstSequence, eventsPerCommit: count))
    }
    next = (commit + 1, firstSequence + count)
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
    guard run.eventsPerCommit > 1 else { return run.commit + (sequence - run.sequence) }
    return run.commit + (sequence - run.sequence) / run.eventsPerCommit
  }
}
