import HeartlogFiles
import HeartlogStorage
import Synchronization

/// The values of device-local fields, beside the log of a store.
///
/// They belong to the replica that the store writes as, so a copy that becomes a new replica has none of them. They are read when a type
/// with local fields is used, and their file is created by the first value that is written.
final class LocalStore: Sendable {
  private let log: CommitLog
  private let file: LocalFieldsFile
  private let isCopied: @Sendable () throws -> Bool
  private let isDurable: Bool
  private let refreshesAutomatically: Bool
  /// Whether a type with local fields was used.
  private let isUsed = Atomic(false)
  /// Tells models that a local value changed.
  let hub = ChangeHub()

  /// - Parameters:
  ///   - log: the log of the store.
  ///   - path: the folder of the store.
  ///   - options: the options of the store.
  init(beside log: CommitLog, at path: String, on fileSystem: any FileSystem, options: StoreOptions) {
    self.log = log
    isDurable = options.durability == .durable
    refreshesAutomatically = options.refreshesAutomatically
    isCopied = { try CommitLog.isCopied(at: path, on: fileSystem) }
    file = LocalFieldsFile(at: path, on: fileSystem, options: options.storage) { replica in
      try Self.storedValues(in: "\(path)/local/\(replica)", on: fileSystem)
    }
    let scheduler = options.storage.scheduler
    hub.onSubscription { [weak self] in
      // A failed read is retried, and its error thrown, by the next write or refresh.
      Polling { [weak self] in
        scheduler.run { [weak self] in try? self?.refresh() }
      }
    }
  }

  deinit { hub.finish() }

  /// The values that a store inside the folder contains, which earlier programs wrote; none if there is no such store.
  private static func storedValues(
    in folder: String, on fileSystem: any FileSystem
  ) throws -> [Event] {
    guard try fileSystem.info("\(folder)/store") != nil else { return [] }
    var options = StoreOptions()
    options.access = .readOnly
    options.createsIfMissing = false
    let store = try FavoritesStore(at: folder, on: fileSystem, options: options)
    return try store.read(\.libraries).flatMap { name in
      try store.library(name).items().map {
        Event(localFields: Array($0.fields), of: $0.id, in: name)
      }
    }
  }

  // MARK: - Reading

  /// Reads the values, now and whenever the store reads what others wrote.
  ///
  /// - Throws: `corrupt` or `inputOutput` if they are there and cannot be read.
  func use() throws(HeartlogError) {
    isUsed.store(true, ordering: .relaxed)
    if !file.holds(log.ownReplica) { try refresh() }
  }

  /// Reads what other processes wrote.
  func refresh() throws(HeartlogError) {
    guard isUsed.load(ordering: .relaxed) else { return }
    let replica = log.ownReplica
    let isNew = try heartlogErrors {
      // A copy keeps the name of its original until it is written.
      guard try file.holds(replica) || !isCopied() else { return false }
      return try file.refresh(as: replica)
    }
    if isNew { hub.tellRestart { [] } }
  }

  /// The values of an item, sorted by the bytes of their names.
  func fields(of id: String, in library: String) -> [Field] {
    refreshForReading()
    return file.fields(of: id, in: library, as: log.ownReplica)
  }

  /// The items of a library with a value, in no particular order.
  func items(in library: String) -> [String] {
    refreshForReading()
    return file.items(in: library, as: log.ownReplica)
  }

  private func refreshForReading() {
    // The error is thrown by the next write or `refresh`.
    if refreshesAutomatically, !file.isCurrent { try? refresh() }
  }

  // MARK: - Writing

  /// Writes values whose commit was acknowledged, or that have none.
  func write(_ changes: LocalChanges) throws(HeartlogError) {
    guard !changes.isEmpty else { return }
    let isDurable = changes.durability.map { $0 == .durable } ?? isDurable
    try heartlogErrors { try file.write(changes.items, as: log.ownReplica, isDurable: isDurable) }
    hub.tellRestart { [] }
  }

  /// Erases the values of an item.
  func erase(_ id: String, in library: String) throws(HeartlogError) {
    if try heartlogErrors({ try file.erase(id, in: library, as: log.ownReplica) }) {
      hub.tellRestart { [] }
    }
  }

  func flush() throws(HeartlogError) { try heartlogErrors { try file.flush(as: log.ownReplica) } }

  /// Releases everything that must not be held while the process is suspended.
  func rest() throws(HeartlogError) {
    hub.rest()
    try flush()
    file.rest()
  }

  func close() throws(HeartlogError) {
    try flush()
    file.rest()
    hub.finish()
  }
}
