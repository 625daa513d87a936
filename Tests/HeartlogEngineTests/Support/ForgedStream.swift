import HeartlogFormat
import Testing

@testable import HeartlogEngine

/// The stream of a writer who sets stamps and wall times as he likes, in runs that are sound otherwise.
struct ForgedStream {
  /// What a commit says of time.
  struct Times {
    let stamp: HybridTimestamp
    let wallTime: Milliseconds

    init(_ stamp: HybridTimestamp, at wallTime: Milliseconds = 1_772_000_000_000) {
      self.stamp = stamp
      self.wallTime = wallTime
    }

    /// So many steps beyond the last stamp that a clock may give by itself.
    init(steps: UInt64) { self.init(.beyondClocks(steps)) }
  }

  let replica: ReplicaID
  private var tree = MerkleTree()
  private(set) var lastStamp = HybridTimestamp(rawValue: 0)
  private let secret = SegmentSecret(
    firstCommit: CommitNumber(rawValue: 1), kind: .whole(Digest([UInt8](repeating: 7, count: 32))))

  init(_ number: UInt64) { self.init(replica: ReplicaID(high: number, low: number)) }

  init(replica: ReplicaID) { self.replica = replica }

  /// How many commits were made.
  var commitCount: UInt64 { tree.size }

  /// The next commits, of one event each, as one run.
  mutating func run(_ times: [Times]) throws -> StreamRun {
    let first = CommitNumber(rawValue: tree.size + 1)
    var commits: [Commit] = []
    var salts = Salts([secret])
    var hasher = SHA256Hasher()
    for times in times {
      let number = tree.size + 1
      let event = Event(library: "papers", item: "\(replica.low)-\(number)", action: .added)
      let commit = Commit(
        replica: replica, number: CommitNumber(rawValue: number),
        firstSequence: SequenceNumber(rawValue: number), stamp: times.stamp, wallTime: times.wallTime,
        records: [.event(event)])
      tree.append(leaf: try commit.leafHash(salts: &salts, hasher: &hasher), hasher: &hasher)
      commits.append(commit)
      lastStamp = times.stamp
    }
    let block = Block(
      replica: replica, firstCommit: first, headsAtStart: [], secrets: [secret], commits: commits)
    return StreamRun(
      replica: replica, name: "forged", firstCommit: first, commitCount: commits.count,
      body: try BlockEncoding.encode(block), root: tree.root)
  }

  /// One commit for each of these steps beyond what clocks give.
  mutating func run(steps: UInt64...) throws -> StreamRun { try run(steps.map { Times(steps: $0) }) }
}

extension HybridTimestamp {
  /// So many steps beyond the last stamp that a clock may give by itself.
  static func beyondClocks(_ steps: UInt64) -> HybridTimestamp {
    HybridTimestamp(rawValue: lastOfClocks.rawValue + steps)
  }
}

extension ReceivedRun {
  var isWaiting: Bool { if case .waiting = self { true } else { false } }
  var isRefused: Bool { if case .refused = self { true } else { false } }
  var isAppended: Bool { if case .appended = self { true } else { false } }
}
