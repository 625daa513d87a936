import HeartlogCrashModel
import Heartlog
import HeartlogFiles
import HeartlogEngine
import HeartlogSync
import HeartlogTesting

/// A process with a store that is open in it.
final class App {
  let process: SimulatedProcess
  /// Nil until the store was opened, or after it was closed.
  var store: FavoritesStore?
  /// Stores that were closed and are still referenced, as they may be in an app. They must hold nothing that others need.
  var closed: [FavoritesStore] = []
  /// What the process wrote itself.
  var written: [ReplicaID: CommitNumber] = [:]

  init(_ process: SimulatedProcess) { self.process = process }
}

/// A device: a disk, a clock that may be wrong, and the processes that share its store.
final class Device: @unchecked Sendable {
  static let storePath = "/favorites.heartlog"
  static let folderPath = "/shared"

  let index: Int
  var disk: MemoryFileSystem
  /// Milliseconds since 1970, as the device believes.
  var wallTime: Milliseconds
  var isClockFrozen = false
  var apps: [App] = []
  private var nextProcess: Int32 = 100
  private let random: SeededRandom
  private let signs: Bool
  /// Small, so that segments are joined and removed often, or large enough for frames at the end of a page.
  private let segmentBytesMax: UInt64
  /// What must be there after a process was killed, and after the power went.
  var written: [ReplicaID: CommitNumber] = [:]
  var durable: [ReplicaID: CommitNumber] = [:]
  /// When the power goes next; nil if nobody knows.
  var stepsUntilPowerLoss: Int?
  /// Whether bytes on the disk were changed by nobody's writes.
  var isRotten = false
  /// The streams of which a store named damage. A loss at the end of the own one is named once.
  var damaged: Set<ReplicaID> = []
  var folder: FolderCarrier

  init(
    _ index: Int, seed: UInt64, apps count: Int, signs: Bool, uptime: SimulatedUptime, keepsTrace: Bool
  ) throws {
    self.index = index
    self.signs = signs
    segmentBytesMax = seed % 2 == 0 ? 6_000 : 10_000
    random = SeededRandom(seed: seed)
    wallTime = 1_700_000_000_000 + Milliseconds(index) * 10
    disk = MemoryFileSystem(root: "/", recording: true)
    try disk.createDirectory(Self.folderPath)
    disk.keepsTrace = keepsTrace
    disk.startJournal()
    disk.clearTrace()
    folder = FolderCarrier(Self.folderPath, on: disk)
    for _ in 0..<count { apps.append(App(newProcess(uptime))) }
  }

  func newProcess(_ uptime: SimulatedUptime) -> SimulatedProcess {
    nextProcess += 1
    return SimulatedProcess(id: nextProcess, clock: uptime)
  }

  func files(of process: SimulatedProcess) -> ProcessFileSystem {
    ProcessFileSystem(disk, process) { [weak self] id in
      self?.apps.contains { $0.process.id == id && !$0.process.isDead } ?? false
    }
  }

  func options(of process: SimulatedProcess) -> StoreOptions {
    var options = StoreOptions()
    options.snapshots = .manual
    options.lockTimeout = .milliseconds(200)
    options.deviceKey = signs ? .folder : .none
    options.clock = { [weak self] in self?.now() ?? 0 }
    let random = random
    options.random = { random.next() }
    let segmentBytesMax = segmentBytesMax
    options.changeStorage = {
      $0.segmentBytesMax = segmentBytesMax
      $0.keepsLockInSeries = true
      $0.scheduler = process
    }
    return options
  }

  private func now() -> Milliseconds {
    if !isClockFrozen { wallTime += 7 }
    return max(0, wallTime)
  }

  func open(in app: App) throws(HeartlogError) -> FavoritesStore {
    try FavoritesStore(at: Self.storePath, on: files(of: app.process), options: options(of: app.process))
  }

  func repair(in app: App) throws(HeartlogError) {
    _ = try StoreRepair.run(
      at: Self.storePath, on: files(of: app.process), options: options(of: app.process).storage)
  }
}
