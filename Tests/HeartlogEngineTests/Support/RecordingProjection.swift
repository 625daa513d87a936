import HeartlogFiles
import HeartlogFormat
import Synchronization

@testable import HeartlogEngine

/// A projection that also keeps what the log told it.
final class RecordingProjection: Projection, @unchecked Sendable {
  struct Record {
    var received: [Commit] = []
    var published: [Commit] = []
    /// Each commit as often as it came.
    var applied: [EventID: Int] = [:]
  }

  private let record = Mutex(Record())

  /// Of a store that never writes snapshots.
  convenience init() {
    self.init(
      SnapshotKeeper(
        at: "/none", on: MemoryFileSystem(recording: true), options: StorageOptions(), policy: .manual))
  }

  var now: Record { record.withLock { $0 } }
  /// All commits that are there, by replica and number.
  var commits: [Commit] {
    let now = now
    return (now.received + now.published).sorted { ($0.replica, $0.number) < ($1.replica, $1.number) }
  }

  func commits(of replica: ReplicaID) -> [Commit] { commits.filter { $0.replica == replica } }

  private func note(_ commit: Commit, in list: WritableKeyPath<Record, [Commit]>) {
    record.withLock {
      $0[keyPath: list].append(commit)
      $0.applied[commit.eventID(at: 0), default: 0] += 1
    }
  }

  override func receive(_ rows: [CommitRow]) {
    for row in rows { note(row.commit(), in: \.received) }
    super.receive(rows)
  }

  override func receive(_ block: ColumnBlock) -> Int {
    for commit in block.commits() { note(commit, in: \.received) }
    return super.receive(block)
  }

  override func publish(_ commits: [CommitLog.PendingCommit]) {
    for pending in commits { note(pending.commit, in: \.published) }
    super.publish(commits)
  }

  override func beginRestart(erasedGeneration: UInt64) {
    record.withLock { $0 = Record() }
    super.beginRestart(erasedGeneration: erasedGeneration)
  }
}
