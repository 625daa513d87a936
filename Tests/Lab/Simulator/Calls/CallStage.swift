import HeartlogCrashModel
import Heartlog
import HeartlogFiles
import HeartlogEngine
import HeartlogSync
import HeartlogTesting

/// What the workloads begin with: a store with several segments, a snapshot and a received stream, a folder and a backup. Made once.
final class CallStage {
  static let path = "/store"
  static let folder = "/shared"
  static let backup = "/backup"
  static let restored = "/restored"
  /// What the peer wrote that the store does not have.
  static let received = "elsewhere 2"
  static let erasable = "base 0"
  /// The end of the id of a commit's second item.
  static let twin = " and its twin"

  private let disk = MemoryFileSystem(root: "/")
  private let source: FavoritesStore
  private let random = SeededRandom(seed: 5)
  private let clock = ManualClock()
  /// What the store contains.
  private(set) var ids: Set<String> = []

  static func options(
    _ random: SeededRandom, _ clock: ManualClock, _ process: SimulatedProcess
  ) -> StoreOptions {
    .simulated(random, clock, process) {
      $0.segmentBytesMax = 8_192
      $0.sealsInBackground = false
      $0.keepsLockInSeries = false
    }
  }

  init() throws {
    let process = SimulatedProcess(id: 1, clock: SimulatedUptime())
    var peerOptions = Self.options(random, clock, process)
    peerOptions.deviceKey = .none
    source = try FavoritesStore.inMemory(options: peerOptions)
    try disk.createDirectory(Self.folder)
    let store = try FavoritesStore(at: Self.path, on: disk, options: Self.options(random, clock, process))
    let papers = try store.library("papers")
    for index in 0..<3 {
      let note = Field(name: "t", value: .string(.noise(index == 1 ? 9_000 : 10)))
      try papers.add("base \(index)", fields: [note])
      ids.insert("base \(index)")
      if index == 1 { _ = try store.snapshot() }
    }
    for index in 0..<3 { try source.library("papers").add("elsewhere \(index)") }
    for index in 0..<2 {
      guard let run = try run(after: UInt64(index)), case .appended = try store.receive(run) else {
        throw Violation("the run was not appended")
      }
      ids.insert("elsewhere \(index)")
    }
    _ = try FolderCarrier(Self.folder, on: disk).sync(store, options: SyncOptions())
    _ = try store.backup(to: Self.backup, on: disk)
    try papers.add("base 3")
    ids.insert("base 3")
    try store.close()
    // Another device has put its last commit into the folder.
    var otherOptions = Self.options(random, clock, process)
    otherOptions.deviceKey = .none
    let other = try FavoritesStore.inMemory(options: otherOptions)
    _ = try StoreCarrier(source).sync(other, options: SyncOptions())
    _ = try FolderCarrier(Self.folder, on: disk).sync(other, options: SyncOptions())
  }

  /// A disk for a workload.
  func disk(for workload: CallWorkload) -> MemoryFileSystem {
    let copy = workload == .create ? MemoryFileSystem(root: "/") : disk.deepCopy()
    if workload == .repair {
      // The file exists, so this cannot fail.
      if var bytes = try? copy.contents(of: "\(Self.path)/store") {
        bytes[12] ^= 1
        try? copy.replaceContents(of: "\(Self.path)/store", with: bytes)
      }
    }
    copy.startJournal()
    copy.clearTrace()
    return copy
  }

  /// The stream of the peer.
  var sourceReplica: ReplicaID { source.replica }

  /// Whether an item was written alone.
  static func isSingle(_ id: String) -> Bool { !id.hasPrefix("new ") }

  private func run(after commit: UInt64) throws -> StreamRun? {
    try source.streamRun(of: source.replica, after: commit, upTo: CommitNumber(rawValue: commit + 1))
  }

  /// What the peer has and the store has not.
  func nextRun() throws -> StreamRun? { try run(after: 2) }

  /// A new store that has all of the peer's commits.
  func peer() throws -> FavoritesStore {
    let process = SimulatedProcess(id: 2, clock: SimulatedUptime())
    var options = Self.options(SeededRandom(seed: 6), clock, process)
    options.deviceKey = .none
    let peer = try FavoritesStore.inMemory(options: options)
    for commit in 0..<UInt64(3) {
      guard let run = try run(after: commit), case .appended = try peer.receive(run) else {
        throw Violation("the peer does not take its run")
      }
    }
    return peer
  }
}
