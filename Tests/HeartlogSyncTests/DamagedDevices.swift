import HeartlogCrashModel
import HeartlogFormat
import HeartlogFiles
import HeartlogTesting
import Testing

@testable import Heartlog
@testable import HeartlogEngine
@testable import HeartlogSync

/// Two devices with each other's streams in segments of every kind, and what happens to the files of the first one.
struct DamagedDevices {
  static let path = "/phone"

  let files: MemoryFileSystem
  let phone: ReplicaID
  let tablet: FavoritesStore

  /// What a commit says, wherever it stands.
  typealias Content = String

  static func options(_ name: String = "") -> StoreOptions {
    var options = StoreOptions()
    options.name = name
    options.snapshots = .manual
    options.lockTimeout = .milliseconds(2)
    options.changeStorage = {
      $0.segmentBytesMax = 5_000
      $0.sealsInBackground = false
      $0.keepsLockInSeries = false
    }
    return options
  }

  /// - Parameter tail: How many commits the phone wrote since the last sync.
  init(tail: Int = 2) throws {
    files = MemoryFileSystem(root: "/", recording: true)
    let store = try FavoritesStore(at: Self.path, on: files, options: Self.options("Anna's phone"))
    tablet = try FavoritesStore(
      at: "/tablet", on: MemoryFileSystem(), options: Self.options("Anna's tablet"))
    let carrier = StoreCarrier(tablet, description: "the tablet")
    for round in 0..<3 {
      for index in 0..<8 {
        try Self.write("\(round)-\(index)", to: store)
        try Self.write("\(round)-\(index)", to: tablet)
      }
      _ = try carrier.sync(store, options: SyncOptions())
      if round == 0 { try store.seal() }
    }
    for index in 0..<tail { try Self.write("tail-\(index)", to: store) }
    phone = store.replica
    try store.close()
  }

  private init(_ other: DamagedDevices, _ files: MemoryFileSystem) {
    self.files = files
    phone = other.phone
    tablet = other.tablet
  }

  /// The same devices with another disk in the phone.
  func with(_ files: MemoryFileSystem) -> DamagedDevices { DamagedDevices(self, files) }

  /// The same devices with a copy of the phone's disk.
  func copy() -> DamagedDevices { with(files.deepCopy()) }

  static func write(_ id: String, to store: FavoritesStore) throws {
    let note = String(repeating: id, count: 60)
    try store.library("papers").set(
      [Field(name: "@note", value: .string(note)), Field(name: "by", value: .string(store.name))], of: id)
  }

  var directory: StoreDirectory { StoreDirectory(fileSystem: files, path: Self.path) }

  func open() throws -> FavoritesStore {
    try FavoritesStore(at: Self.path, on: files, options: Self.options())
  }

  func repair(
    from source: (any Carrier)? = nil, isDryRun: Bool = false
  ) throws(HeartlogError) -> RepairReport {
    try FavoritesStore.repair(
      at: Self.path, on: files, from: source ?? StoreCarrier(tablet, description: "the tablet"),
      isDryRun: isDryRun, options: Self.options())
  }

  /// The paths of all segments.
  func segments() throws -> [String] {
    try directory.replicas().flatMap { replica in
      try directory.segments(of: replica).map { directory.path(of: $0, in: replica) }
    }
  }

  /// The files of all streams with their bytes.
  func streamFiles() throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for replica in try directory.replicas() {
      let folder = directory.streamPath(replica)
      for name in try files.entries(of: folder) {
        found["\(folder)/\(name)"] = try files.contents(of: "\(folder)/\(name)")
      }
    }
    return found
  }

  /// What can be read of a store's streams, damaged or not, by stream and number.
  static func readable(_ directory: StoreDirectory) throws -> [ReplicaID: [UInt64: Content]] {
    var found: [ReplicaID: [UInt64: Content]] = [:]
    for replica in try directory.replicas() {
      let remains = try DamagedStreamReader(of: replica, in: directory)
      while let piece = try remains.read() {
        for commit in piece.commits {
          found[replica, default: [:]][commit.number.rawValue] = "\(commit.stamp.rawValue) \(commit.records)"
        }
      }
    }
    return found
  }

  func readable() throws -> [ReplicaID: [UInt64: Content]] { try Self.readable(directory) }

  func findings() throws -> [Finding] {
    try FavoritesStore.verify(at: Self.path, on: files, progress: nil).streams.compactMap(\.finding)
  }

  // MARK: - Damage

  enum Damage: String, CaseIterable {
    case oneHeader, bothHeaders, firstFrame, middle, end, zeros, cut, gone

    /// Damages a file.
    func apply(to path: String, in files: MemoryFileSystem) throws {
      var bytes = try files.contents(of: path)
      let end = (bytes.lastIndex { $0 != 0 } ?? 0) + 1
      switch self {
      case .oneHeader: bytes[40] ^= 1
      case .bothHeaders:
        bytes[40] ^= 1
        bytes[2_088] ^= 1
      case .firstFrame: bytes[4_096 + 44] ^= 1
      case .middle: bytes[4_096 + (end - 4_096) / 2] ^= 1
      case .end: bytes[end - 9] ^= 1
      case .zeros:
        for index in (4_096 + 8)..<max(4_105, end - 8) { bytes[index] = 0 }
      case .cut: bytes.removeSubrange((4_096 + (end - 4_096) / 3)...)
      case .gone: return try files.remove(path)
      }
      try files.replaceContents(of: path, with: bytes)
    }
  }
}
