import HeartlogFormat
import HeartlogStorage
import Synchronization

/// Keeps what a log told it.
final class RecordingSink: CommitSink {
  struct Record {
    var received: [Commit] = []
    var published: [Commit] = []
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

  func publish(_ commits: [CommitLog.PendingCommit]) {
    record.withLock {
      for pending in commits {
        $0.published.append(pending.commit)
        $0.applied[pending.commit.eventID(at: 0), default: 0] += 1
      }
    }
  }

  func beginRestart(erasedGeneration: UInt64) {
    record.withLock {
      $0.received.removeAll()
      $0.published.removeAll()
      $0.applied.removeAll()
    }
  }

  func endRestart() {}
}
