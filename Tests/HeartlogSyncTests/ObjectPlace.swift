import HeartlogCrashModel
import HeartlogSimulator
import Heartlog
import HeartlogFiles
import Synchronization

@testable import HeartlogSync

/// A place that stores sync through, of each kind. Tests may look into it, and change it as anybody could.
final class ObjectPlace: Sendable {
  enum Kind: CaseIterable {
    /// A directory, looked at anew by each sync.
    case directory
    /// Memory, looked at anew by each sync.
    case memory
    /// Memory that answers in small parts, and carriers that continue where they were.
    case parts
    /// A WebDAV share of a server that keeps no conditions.
    case webDAV
    /// A bucket that is listed in small pages.
    case s3
  }

  private enum Implementation: Sendable {
    case directory(MemoryFileSystem)
    case memory(MemoryPlace)
    case storage(FakeStorage)
  }

  static let root = "/cloud"

  let objects: any Place
  private let implementation: Implementation
  private let keepsCarriers: Bool
  /// By store, each with the store, so that no other has its identity.
  private let carriers = Mutex<[ObjectIdentifier: (store: FavoritesStore, carrier: PlaceCarrier)]>([:])

  init(_ kind: Kind) throws {
    keepsCarriers = kind == .parts
    switch kind {
    case .directory:
      let files = MemoryFileSystem()
      try files.createDirectory(Self.root)
      objects = DirectoryPlace(Self.root, on: files)
      implementation = .directory(files)
    case .memory, .parts:
      let memory = MemoryPlace(pageMax: kind == .parts ? 3 : 1_000)
      objects = memory
      implementation = .memory(memory)
    case .webDAV, .s3:
      let storage = FakeStorage(kind == .s3 ? .s3 : .webDAV, kind == .s3 ? .kept : .refused)
      objects = storage.place
      implementation = .storage(storage)
    }
  }

  func sync(
    _ store: FavoritesStore, options: SyncOptions = SyncOptions(),
    _ change: (inout SyncOptions) -> Void = { _ in }
  ) throws -> SyncReport {
    var options = options
    change(&options)
    return try carrier(of: store).sync(store, options: options)
  }

  private func carrier(of store: FavoritesStore) -> PlaceCarrier {
    guard keepsCarriers else { return PlaceCarrier(objects) }
    return carriers.withLock { carriers in
      let identity = ObjectIdentifier(store as AnyObject)
      let carrier = carriers[identity]?.carrier ?? PlaceCarrier(objects)
      carriers[identity] = (store, carrier)
      return carrier
    }
  }

  /// The names of all objects, sorted.
  func names() throws -> [String] {
    switch implementation {
    case .memory(let memory): return memory.objects.keys.sorted()
    case .storage(let storage): return storage.objects.keys.sorted()
    case .directory(let files):
      func names(_ folder: String) throws -> [String] {
        try files.entries(of: "\(Self.root)/\(folder)").flatMap { entry in
          let name = folder.isEmpty ? entry : "\(folder)/\(entry)"
          return try files.info("\(Self.root)/\(name)")?.kind == .directory ? try names(name) : [name]
        }
      }
      return try names("")
    }
  }

  func bytes(_ name: String) throws -> [UInt8] {
    switch implementation {
    case .memory(let memory): return memory.objects[name] ?? []
    case .storage(let storage): return storage.objects[name] ?? []
    case .directory(let files): return try files.contents(of: "\(Self.root)/\(name)")
    }
  }

  /// Puts an object in place of another one, or removes it.
  func replace(_ name: String, with bytes: [UInt8]?) throws {
    switch implementation {
    case .memory(let memory): memory.replace(name, with: bytes)
    case .storage(let storage): storage.replace(name, with: bytes)
    case .directory(let files):
      let path = "\(Self.root)/\(name)"
      if try files.info(path) != nil { try files.remove(path) }
      guard let bytes else { return }
      for folder in [PathParts.parent(of: PathParts.parent(of: path)), PathParts.parent(of: path)]
      where try files.info(folder) == nil { try files.createDirectory(folder) }
      try files.open(path, .createNew).write(bytes, at: 0)
    }
  }
}

extension ObjectContent {
  /// Whether there is none: it was deleted, or is not here, which not every place can tell apart.
  var isAbsent: Bool { self == .absent || self == .deleted }
}
