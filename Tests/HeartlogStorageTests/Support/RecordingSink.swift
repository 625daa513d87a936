import HeartlogEvents
import HeartlogStorage
import Synchronization

/// Keeps what a log told it.
final class RecordingSink: CommitSink {
  struct Record {
    var received: [Commit] = []
    var published: [Commit] = []
    /// Staged and neither published nor discarded.
    var staged: [Commit] = []
    var discards = 0
    /// Each commit as often as it came.
    var applied: [EventID: Int] = [:]
  }

  private let record = Mutex(Record())

  var now: Record { record.withLock { $0 } }
  /// All commits that are there, by replica and number.
  var commits: [Commit] {
    let now = now
    return (now.received + now.published).sorted { ($0.replica, $0.number) < ($1.replica, $1.number) }
  }

  func commits(of replica: ReplicaID) -> [Commit] { commits.filter { $0.replica == replica } }

  func receive(_ commit: Commit) {
    record.withLock {
      $0.received.append(commit)
      $0.applied[commit.eventID(at: 0), default: 0] += 1
    }
  }

  /// Knows no items: says 0.
  func receive(_ block: ColumnBlock) -> Int {
    for commit in block.commits() { receive(commit) }
    return 0
  }

  func stage(_ pending: CommitLog.PendingCommit) { record.withLock { $0.staged.append(pending.commit) } }

  func publish(_ count: Int) {
    record.withLock {
      for commit in $0.staged.prefix(count) {
        $0.published.append(commit)
        $0.applied[commit.eventID(at: 0), default: 0] += 1
      }
      $0.staged.removeFirst(count)
    }
  }

  func discard() {
    record.withLock {
      $0.staged.removeAll()
      $0.discards += 1
    }
  }

  func beginRestart() {
    record.withLock {
      $0.received.removeAll()
      $0.published.removeAll()
      $0.applied.removeAll()
    }
  }

  func endRestart() {}
}
