import HeartlogCrashModel
import Heartlog
import HeartlogFiles
import HeartlogFormat
import HeartlogEngine
import HeartlogTesting

/// What two processes begin with: a store with a sealed segment, full ones and a tail, a received stream and a snapshot, and what other
/// devices wrote that it does not have. Made once.
final class InterleavingStage {
  static let path = "/store"
  static let library = "papers"
  /// What each of the two processes erases: one stands in a sealed segment, the other in one that is full.
  static let erasable = ["base 0", "base 2"]
  /// What another device erased: the store has the first, and not yet the second.
  static let erasedElsewhere = ["elsewhere 1", "elsewhere 2"]
  /// The number of commits of the peer that the store has.
  static let receivedCount: UInt64 = 2

  /// What the store contains.
  private(set) var ids: Set<String> = []
  /// The peer's next commit, with content that another device has erased since, and the peer's first signature.
  let run: StreamRun
  /// The commits of the device that erased it, and its signature.
  let erasures: StreamRun
  let signature: SignedCheckpoint
  private let disk = MemoryFileSystem(root: "/")

  static func options(
    _ random: SeededRandom, _ clock: ManualClock, _ process: SimulatedProcess, sealsInBackground: Bool = false
  ) -> StoreOptions {
    .simulated(random, clock, process) {
      $0.segmentBytesMax = 8_192
      $0.sealsInBackground = sealsInBackground
    }
  }

  /// What is written of an item, and of no other: it fills a segment.
  static func note(of id: String) -> String { .noise(4_100 + id.utf8.reduce(0) { $0 * 7 % 97 + Int($1) }) }

  static func add(_ id: String, to store: FavoritesStore) throws {
    let note = Field(name: "t", value: .string(note(of: id)))
    try store.library(library).add(id, fields: [note])
  }

  init() throws {
    let random = SeededRandom(seed: 5)
    let clock = ManualClock()
    let options = Self.options(random, clock, SimulatedProcess(id: 1, clock: SimulatedUptime()))
    let source = try FavoritesStore.inMemory(options: options)
    let eraser = try FavoritesStore.inMemory(options: options)
    let store = try FavoritesStore(at: Self.path, on: disk, options: options)
    for index in 0...Self.receivedCount { try Self.add("elsewhere \(index)", to: source) }
    guard let signed = try source.makeCheckpoint() else { throw Violation("the peer signed nothing") }
    func sourceRun(_ index: UInt64) throws -> StreamRun {
      let last = CommitNumber(rawValue: index + 1)
      guard let run = try source.streamRun(of: source.replica, after: index, upTo: last) else {
        throw Violation("the peer has no commit \(last)")
      }
      return run
    }
    for index in 0...Self.receivedCount { _ = try eraser.receive(sourceRun(index)) }
    for id in Self.erasedElsewhere { try eraser.erase(id, in: Self.library) }
    let last = CommitNumber(rawValue: UInt64(Self.erasedElsewhere.count))
    guard let signature = try eraser.makeCheckpoint(),
      let erasures = try eraser.streamRun(of: eraser.replica, after: 0, upTo: last)
    else { throw Violation("an erasure was not signed") }
    self.signature = signature
    self.erasures = erasures
    var run = try sourceRun(Self.receivedCount)
    run.proof = RunProof(checkpoint: signed, extensionRoots: [])
    self.run = run
    for index in 0..<4 {
      try Self.add("base \(index)", to: store)
      ids.insert("base \(index)")
      if index == 0 { _ = try store.seal() }
      if index == 2 { _ = try store.snapshot() }
    }
    try store.library(Self.library).add("base 4")
    ids.insert("base 4")
    for index in 0..<Self.receivedCount {
      guard case .appended = try store.receive(sourceRun(index)) else {
        throw Violation("the run was not appended")
      }
      ids.insert("elsewhere \(index)")
    }
    try store.close()
    for id in Self.erasable + Self.erasedElsewhere.prefix(1) where !contains(id, disk) {
      throw Violation("\(id) is not found in the files")
    }
  }

  func makeDisk() -> MemoryFileSystem { disk.deepCopy() }

  /// Whether the note of an item stands in any file of the store.
  func contains(_ id: String, _ disk: MemoryFileSystem) -> Bool {
    let note = Array(Self.note(of: id).utf8.prefix(64))
    return World.files(in: Self.path, of: disk).contains {
      World.contains(note, in: (try? disk.contents(of: $0)) ?? [])
    }
  }
}
