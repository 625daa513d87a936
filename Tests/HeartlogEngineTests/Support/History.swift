import HeartlogFormat
import HeartlogFiles
import Testing

@testable import HeartlogEngine

/// A store with its own stream and one that it received, and positions in them from every time of its making.
final class History {
  let files = MemoryFileSystem()
  let store: TestStore
  private let other: OpenStore
  private(set) var own: OpenStore
  /// With how many commits of each stream stood in front of them.
  private(set) var positions: [(positions: [StreamPosition], heads: [ReplicaID: UInt64])] = []
  private var index = 0
  private let clocksAreWrong: Bool

  init(segmentBytesMax: UInt64 = 5_000, clocksAreWrong: Bool = false) throws {
    self.clocksAreWrong = clocksAreWrong
    store = TestStore(files: files, path: "/store")
    try store.create(seed: 31)
    own = try store.open(TestStore.options(seed: 32, segmentBytesMax: segmentBytesMax))
    let otherStore = TestStore(files: files, path: "/other")
    try otherStore.create(seed: 33, name: "Other")
    other = try otherStore.open(TestStore.options(seed: 34))
  }

  /// Where clocks are wrong, the other device's is ten minutes ahead, and the own one jumps ahead and back now and then.
  private var wallTime: Milliseconds { 1_772_000_000_000 + Milliseconds(index) * 1_000 }
  private var ownWallTime: Milliseconds {
    clocksAreWrong && index % 11 < 3 ? wallTime + 7_000 - Milliseconds(index % 11) * 6_000 : wallTime
  }
  private var otherWallTime: Milliseconds { clocksAreWrong ? wallTime + 600_000 : wallTime }

  /// Rotation, sealing, joining, and received blocks in between.
  static func long(clocksAreWrong: Bool = false) throws -> History {
    let history = try History(clocksAreWrong: clocksAreWrong)
    try history.write(3)
    for _ in 0..<30 { try history.write() }
    try history.receive(12)
    try history.write(4)
    try history.seal(joining: false)
    for _ in 0..<12 { try history.write() }
    try history.receive(5)
    try history.seal()
    try history.write(9)
    try history.receive(30)
    for _ in 0..<12 { try history.write() }
    try history.receive(2)
    return history
  }

  var replica: ReplicaID { own.replica }
  var otherReplica: ReplicaID { other.replica }
  var commits: [Commit] { own.projection.commits }

  func write(_ count: Int = 1) throws {
    for _ in 0..<count {
      try own.write(index, events: index % 3 + 1, bytes: 150, at: ownWallTime)
      index += 1
    }
    try note()
  }

  /// Writes elsewhere, and receives it here as one block.
  func receive(_ count: Int) throws {
    let before = try other.log.streamHeads().first?.commit.rawValue ?? 0
    for _ in 0..<count {
      try other.write(index, events: index % 3 + 1, bytes: 60, at: otherWallTime)
      index += 1
    }
    let head = try #require(try other.log.streamHeads().first { $0.replica == other.replica })
    let run = try #require(
      try other.log.streamRun(of: other.replica, after: before, upTo: head.commit))
    _ = try own.log.receive(run)
    try note()
  }

  func seal(joining: Bool = true) throws {
    _ = try own.log.seal(joining: joining)
    try note()
  }

  func note() throws {
    let (found, commits) = try own.log.positions { own.projection.commits }
    positions.append((found, commits.reduce(into: [:]) { $0[$1.replica, default: 0] += 1 }))
  }

  /// Opens the store at positions.
  func open(at positions: [StreamPosition]) throws -> OpenStore {
    let projection = RecordingProjection()
    let log = try CommitLog(
      at: store.path, on: files, options: TestStore.options(seed: 40), projection: projection, from: positions
    )
    return OpenStore(log: log, projection: projection)
  }

  /// All commits but those that stood in front of the positions.
  func commits(behind heads: [ReplicaID: UInt64]) -> [Commit] {
    commits.filter { $0.number.rawValue > heads[$0.replica] ?? 0 }
  }

  func path(_ name: String, of replica: ReplicaID) -> String { "/store/replicas/\(replica)/\(name)" }
}
