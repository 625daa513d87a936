import HeartlogFiles
import HeartlogStorage

/// The values of device-local fields, in a store of their own inside the folder of the store: `local/<replica>`.
///
/// The replica in the name is the one that the outer store writes as, so a copy that becomes a new replica has none of the values. The
/// inner store is opened when a type with local fields is used, and created by the first value that is written.
final class LocalStore: Sendable {
  private struct State {
    /// Whether a type with local fields was used.
    var isUsed = false
    /// The replica whose values `store` contains.
    var replica: ReplicaID?
    var store: FavoritesStore?
    /// The number of events of `store` that readers were told of.
    var toldEvents: UInt64 = 0
  }

  private let log: CommitLog
  private let path: String
  private let fileSystem: any FileSystem
  private let options: StoreOptions
  private let state = Locked(State())
  /// Held while the inner store is opened or created.
  private let opening = Locked(())
  /// Tells models that a local value changed.
  let hub = ChangeHub()

  /// - Parameters:
  ///   - log: the log of the outer store.
  ///   - path: the folder of the outer store.
  ///   - options: the options of the outer store.
  init(beside log: CommitLog, at path: String, on fileSystem: any FileSystem, options: StoreOptions) {
    self.log = log
    self.path = path
    self.fileSystem = fileSystem
    var options = options
    options.name = ""
    // The key of an app belongs to the outer store: the replica of a store is a hash of its key.
    options.deviceKey = .folder
    self.options = options
    let scheduler = options.storage.scheduler
    hub.onSubscription { [weak self] in
      // A failed read is retried, and its error thrown, by the next write or refresh.
      Polling { [weak self] in
        scheduler.run { [weak self] in try? self?.refresh() }
      }
    }
  }

  deinit { hub.finish() }

  private var folder: String { "\(path)/local" }

  /// The inner store; nil if no local value was written by this replica, as far as this process knows. Does not touch the disk.
  var current: FavoritesStore? {
    let replica = log.ownReplica
    return state.withLock { $0.replica == replica ? $0.store : nil }
  }

  // MARK: - Opening

  /// Opens the inner store, now or as soon as there is one.
  ///
  /// - Throws: any error of opening a store.
  func use() throws(HeartlogError) {
    state.withLock { $0.isUsed = true }
    try open()
  }

  private func open() throws(HeartlogError) {
    guard current == nil else { return }
    try opening.withLock { _ throws(HeartlogError) in
      guard current == nil else { return }
      let replica = log.ownReplica
      let inner = "\(folder)/\(replica)"
      let isThere = try heartlogErrors {
        // A copy keeps the name of its original until it is written.
        try fileSystem.info("\(inner)/store") != nil && !CommitLog.isCopied(at: path, on: fileSystem)
      }
      if isThere { try open(inner, of: replica, createsIfMissing: false) }
    }
  }

  /// Opens or creates the inner store.
  private func openForWriting() throws(HeartlogError) -> FavoritesStore {
    if let current { return current }
    return try opening.withLock { _ throws(HeartlogError) in
      if let current { return current }
      let replica = log.ownReplica
      try heartlogErrors {
        if try fileSystem.info(folder) == nil { try makeFolder() }
        for name in try fileSystem.entries(of: folder) where name != replica.description {
          try removeFiles(in: "\(folder)/\(name)")
        }
      }
      return try open("\(folder)/\(replica)", of: replica, createsIfMissing: true)
    }
  }

  @discardableResult
  private func open(
    _ inner: String, of replica: ReplicaID, createsIfMissing: Bool
  ) throws(HeartlogError) -> FavoritesStore {
    var options = options
    options.createsIfMissing = createsIfMissing
    let store = try FavoritesStore(at: inner, on: fileSystem, options: options)
    let events = store.read(\.eventCount)
    state.withLock { $0 = State(isUsed: true, replica: replica, store: store, toldEvents: events) }
    return store
  }

  private func makeFolder() throws(FileError) {
    do throws(FileError) { try fileSystem.createDirectory(folder) } catch {
      guard error.alreadyExists else { throw error }
    }
    try fileSystem.synchronizeDirectory(path)
  }

  /// Removes the files of a replica that this store was. They may describe another machine.
  private func removeFiles(in folder: String) throws(FileError) {
    for name in try fileSystem.entries(of: folder) {
      let path = "\(folder)/\(name)"
      if try fileSystem.info(path)?.kind == .directory {
        try removeFiles(in: path)
      } else {
        try fileSystem.remove(path)
      }
    }
  }

  // MARK: - Reading and writing

  /// Reads what other processes wrote.
  func refresh() throws(HeartlogError) {
    guard state.withLock(\.isUsed) else { return }
    try open()
    guard let store = current else { return }
    try store.refresh()
    tell(of: store)
  }

  /// Writes values whose commit was acknowledged, or that have none.
  func write(_ changes: LocalChanges) throws(HeartlogError) {
    guard !changes.isEmpty else { return }
    let store = try openForWriting()
    defer { tell(of: store) }
    var rest = changes.items[...]
    while !rest.isEmpty {
      try heartlogErrors {
        try store.write(durability: changes.durability) {
          let transaction = WriteTransaction.joined(by: store)
          while let item = rest.first, transaction?.isFull == false {
            try store.library(item.library).set(item.fields, of: item.id)
            rest.removeFirst()
          }
        }
      }
    }
  }

  private func tell(of store: FavoritesStore) {
    let events = store.read(\.eventCount)
    let isNew = state.withLock { state in
      guard state.store === store, state.toldEvents != events else { return false }
      state.toldEvents = events
      return true
    }
    if isNew { hub.tellRestart { [] } }
  }

  /// Erases the values of an item.
  func erase(_ id: String, in library: String) throws(HeartlogError) {
    try open()
    try current?.refresh()
    guard let store = current, try store.library(library).item(id) != nil else { return }
    try store.erase(id, in: library)
    tell(of: store)
  }

  func flush() throws(HeartlogError) { try current?.flush() }

  /// Releases everything that must not be held while the process is suspended.
  func rest() throws(HeartlogError) {
    hub.rest()
    try current?.rest()
  }

  func close() throws(HeartlogError) {
    try current?.close()
    hub.finish()
  }
}
