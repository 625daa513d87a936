import HeartlogSimulator
import Heartlog
import HeartlogFormat
import HeartlogEngine
import HeartlogSync
import Synchronization

/// What a store told of its streams, without files: it checks what it receives as far as that takes no files, and keeps the ends of streams
/// and the vault, so that a dialogue goes on as with a store.
final class RememberedStreams: ShippedStreams {
  private struct Place: Hashable {
    let replica: ReplicaID
    let after: UInt64
    let last: UInt64
  }

  private struct Changes {
    var ends: [ReplicaID: UInt64] = [:]
    var vault: VaultMembership?
  }

  let replica: ReplicaID
  let name: String
  private let heads: [StreamHead]
  /// From commit 0 on.
  private let roots: [ReplicaID: [Digest]]
  private let runs: [Place: StreamRun]
  private let changes: Mutex<Changes>

  init(_ store: FavoritesStore) throws {
    replica = store.replica
    name = store.name
    heads = try store.streamHeads()
    var roots: [ReplicaID: [Digest]] = [:]
    var runs: [Place: StreamRun] = [:]
    for head in heads {
      for last in 0...head.commit.rawValue {
        guard let root = try store.streamRoot(of: head.replica, at: CommitNumber(rawValue: last)) else {
          continue
        }
        roots[head.replica, default: []].append(root)
        for after in 0..<last {
          runs[Place(replica: head.replica, after: after, last: last)] =
            try store.streamRun(of: head.replica, after: after, upTo: CommitNumber(rawValue: last))
        }
      }
    }
    self.roots = roots
    self.runs = runs
    changes = Mutex(Changes(vault: store.vault))
  }

  private init(copying other: RememberedStreams) {
    replica = other.replica
    name = other.name
    heads = other.heads
    roots = other.roots
    runs = other.runs
    changes = Mutex(other.changes.withLock { $0 })
  }

  func copy() -> RememberedStreams { RememberedStreams(copying: self) }

  var vault: VaultMembership? { changes.withLock { $0.vault } }

  func join(_ vault: VaultID, with other: VaultMembership, isEstablished: Bool) {
    changes.withLock { $0.vault = $0.vault?.joined(vault, with: other, isEstablished: isEstablished) }
  }

  func streamHeads() -> [StreamHead] {
    let ends = changes.withLock { $0.ends }
    return heads.map { head in
      guard let end = ends[head.replica] else { return head }
      let commit = min(end, head.commit.rawValue)
      return StreamHead(
        replica: head.replica, name: head.name, commit: CommitNumber(rawValue: commit),
        root: roots[head.replica]?[Int(commit)] ?? head.root, isEnded: true)
    }
  }

  func streamRoot(of replica: ReplicaID, at commit: CommitNumber) -> Digest? {
    guard let roots = roots[replica], commit.rawValue < UInt64(roots.count) else { return nil }
    return roots[Int(commit.rawValue)]
  }

  func streamRun(of replica: ReplicaID, after: UInt64, upTo last: CommitNumber) -> StreamRun? {
    let count = UInt64(roots[replica]?.count ?? 1)
    return runs[Place(replica: replica, after: after, last: min(last.rawValue, count - 1))]
  }

  func receive(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun {
    let leaves: [Digest]
    do throws(MalformedError) { leaves = try run.leaves() } catch { throw HeartlogError(.peer, error.reason) }
    let known = UInt64((roots[run.replica]?.count ?? 1) - 1)
    if run.firstCommit.rawValue > known + 1 { return .gap }
    if run.lastCommit.rawValue <= known { return .known }
    return .appended(commits: leaves.count, events: leaves.count, changedItems: 0)
  }

  func endStream(_ replica: ReplicaID, after commit: CommitNumber) {
    changes.withLock { $0.ends[replica] = min($0.ends[replica] ?? .max, commit.rawValue) }
  }
}
