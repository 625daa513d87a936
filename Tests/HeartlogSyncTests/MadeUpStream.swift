import Heartlog
import Testing

@testable import HeartlogEngine
@testable import HeartlogSync

/// A stream that nobody's store wrote, with any stamps and of any replica.
struct MadeUpStream {
  let replica: ReplicaID
  let name: String
  private var commits: [Commit] = []
  /// The root after each commit.
  private var roots: [Digest] = []
  private var tree = MerkleTree()

  init(_ replica: ReplicaID, _ name: String) {
    self.replica = replica
    self.name = name
  }

  init(_ number: UInt64, _ name: String = "made up") { self.init(.made(number), name) }

  private static let secret = SegmentSecret(
    firstCommit: CommitNumber(rawValue: 1), kind: .whole(Digest([UInt8](0..<32))))

  mutating func append(_ commit: Commit) throws {
    var hasher = SHA256Hasher()
    var salts = Salts([Self.secret])
    tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
    commits.append(commit)
    roots.append(tree.root)
  }

  /// Adds a commit of one event.
  mutating func append(
    _ item: String, in library: String = "papers", stamp: HybridTimestamp? = nil,
    wallTime: Milliseconds? = nil
  ) throws {
    let number = UInt64(commits.count + 1)
    let stamp = stamp ?? HybridTimestamp(milliseconds: 1_772_438_400_000 + Milliseconds(number) * 60_000)
    try append(
      Commit(
        replica: replica, number: CommitNumber(rawValue: number),
        firstSequence: SequenceNumber(rawValue: number), stamp: stamp,
        wallTime: wallTime ?? stamp.milliseconds, origin: "cli",
        records: [.event(Event(library: library, item: item, action: .added))]))
  }

  /// A part of the stream; all of it unless said otherwise.
  func run(_ part: ClosedRange<Int>? = nil) throws -> StreamRun {
    let part = part ?? 1...commits.count
    let (first, last) = (
      CommitNumber(rawValue: UInt64(part.lowerBound)), CommitNumber(rawValue: UInt64(part.upperBound))
    )
    let block = Block(
      replica: replica, firstCommit: first, secrets: Salts([Self.secret]).secrets(serving: first...last),
      commits: Array(commits[part.lowerBound - 1..<part.upperBound]))
    return StreamRun(
      replica: replica, name: name, firstCommit: first, commitCount: part.count,
      body: try BlockEncoding.encode(block), root: roots[part.upperBound - 1])
  }
}

extension ReplicaID {
  /// Ids that are far from each other.
  static func made(_ number: UInt64) -> ReplicaID {
    ReplicaID(high: number &* 0x9E37_79B9_7F4A_7C15, low: number)
  }
}

extension FavoritesStore {
  /// Takes a stream as from a backup: whatever its stamps are.
  func hold(_ stream: MadeUpStream, _ part: ClosedRange<Int>? = nil) throws {
    guard case .appended = try log.restore(stream.run(part)) else {
      throw HeartlogError(.invalid, "a stream that is not taken")
    }
  }
}

extension StreamRun {
  /// The run with another item in its last event, and the root that belongs to it.
  func forged() throws -> StreamRun {
    let block = try body.withUnsafeBytes {
      try BlockEncoding.decode($0, replica: replica, firstCommit: firstCommit, commitCount: commitCount)
    }
    var commits = block.commits
    let last = commits.removeLast()
    let event = try #require(last.records.last?.event)
    commits.append(
      Commit(
        replica: last.replica, number: last.number, firstSequence: last.firstSequence, stamp: last.stamp,
        wallTime: last.wallTime, origin: last.origin, heads: last.heads,
        records: [
          .event(
            Event(library: event.library, item: "forged", action: event.action, fields: event.fields))
        ]))
    var tree = MerkleTree()
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    for commit in commits {
      tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
    }
    let forged = Block(
      replica: replica, firstCommit: firstCommit, headsAtStart: block.headsAtStart, secrets: block.secrets,
      commits: commits)
    return StreamRun(
      replica: replica, name: name, firstCommit: firstCommit, commitCount: commitCount,
      body: try BlockEncoding.encode(forged), root: tree.root)
  }
}
