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

extension CommitLog {
  /// Returns the positions of all streams, after everything written so far has been read and made durable.
  ///
  /// Takes the store's lock, and releases it before the Merkle trees are brought up to date. That hashes the commits since the last
  /// call; in the first call, those since the last sealed segment or since the positions at which the log was opened.
  ///
  /// - Parameter body: Called while the projection has exactly the commits before the positions. It must not call the log.
  /// - Returns: A position for each stream that has a commit, sorted by replica, and the result of `body`.
  /// - Throws: `corrupt` if a stream is damaged; `readOnly`, `locked` and others as for writing.
  func positions<R>(_ body: () throws -> R) throws(HeartlogError) -> (
    positions: [StreamPosition], result: R
  ) {
    defer { noteFiles() }
    return try heartlogErrors {
      let (tails, result) = try exclusively { _ in
        (streamSet.readers.mapValues(\.tail).filter { $0.value.head != nil }, try body())
      }
      let positions = try streamSet.merkleCaches.monitor.withLock {
        try tails.sorted { $0.key < $1.key }.map { replica, tail in
          let commit = tail.next.rawValue - 1
          guard let time = tail.time else { preconditionFailure("the log reads streams from their start") }
          if let position = try streamSet.merkleCaches.cache(of: replica, at: commit).streamPosition(at: time)
          {
            return position
          }
          // The segment was sealed since, or the cache starts after the last commit and has not read it.
          return try MerkleCache.position(behind: commit, at: time, of: replica, in: directory, from: nil)
        }
      }
      return (positions, result)
    }
  }
}
