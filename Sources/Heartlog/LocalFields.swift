import HeartlogFiles
import HeartlogFormat
import HeartlogEngine
import Synchronization

extension FavoritesLibrary {
  /// This library as a type sees it whose fields with these names are device-local.
  ///
  /// - Throws: any error of opening a store, if local values are there and cannot be read.
  func keepingLocal(_ names: Set<String>) throws(HeartlogError) -> FavoritesLibrary {
    if !names.isEmpty { try store.localStore.use() }
    var library = self
    library.localFields = names
    return library
  }

  /// The changes of this library from now on, also those of local values.
  var allChanges: Changes {
    localFields.isEmpty ? changes : Changes(store.projection.hub, store.localStore.hub, library: name)
  }

  /// The local values of an item, sorted by the bytes of their names, without nulls. Inside `write { }` they include the closure's changes.
  private func localValues(of id: String) -> [Field] {
    let stored = store.localStore.fields(of: id, in: name)
    let changed = WriteTransaction.joined(by: store)?.localChanges.fields(of: id, in: name) ?? []
    return (changed.isEmpty ? stored : stored.setting(changed))
      .filter { !$0.value.isNull && localFields.contains($0.name) }
  }

  /// An item without logged values of local fields, and with the local values.
  ///
  /// - Parameter logged: the item in the log; nil if it was never written there.
  func withLocalValues(_ id: String, _ logged: ItemState?) -> ItemState? {
    let local = localValues(of: id)
    guard let logged else {
      return local.isEmpty ? nil : ItemState(id: id, isFavorite: false, fields: local)
    }
    guard !local.isEmpty || logged.fields.contains(where: { localFields.contains($0.name) }) else {
      return logged
    }
    return ItemState(
      id: id, isFavorite: logged.isFavorite, favoritedMoment: logged.favoritedMoment,
      fields: ItemFields(logged.fields.filter { !localFields.contains($0.name) }.setting(local)))
  }

  /// Items of the log, with the local values in place of logged ones.
  func withLocalValues(_ logged: [ItemState]) -> [ItemState] {
    localFields.isEmpty ? logged : logged.map { withLocalValues($0.id, $0) ?? $0 }
  }

  /// All items of the log, with the local values, and those that have local values only.
  func allWithLocalValues(_ logged: [ItemState]) -> [ItemState] {
    var ids = store.localStore.items(in: name)
    let changes = WriteTransaction.joined(by: store)?.localChanges.items ?? []
    ids += changes.filter { $0.library == name }.map(\.item)
    var known = Set(logged.map { UTF8Key($0.id) })
    let others = ids.filter { known.insert(UTF8Key($0)).inserted }
    return withLocalValues(logged) + others.compactMap { withLocalValues($0, nil) }
  }

  /// `perform` for a library with device-local fields: these go to the local values, all others to the log.
  func performApart(
    _ operation: HeartlogState.Operation, on id: String
  ) throws(HeartlogError) -> WriteResult {
    let (logged, local) = operation.split { localFields.contains($0.name) }
    guard let transaction = WriteTransaction.joined(by: store) else {
      if local.isEmpty { return try store.perform(logged, on: id, in: key) }
      return try store.writeAsOne { () throws(HeartlogError) in try performApart(operation, on: id) }
    }
    try check(local, of: id)
    let result = try transaction.perform(logged, on: id, in: key)
    guard operation.takesFields(result) else {
      return WriteResult(
        isChange: result.isChange, isFavorite: result.isFavorite,
        ignoredFields: result.ignoredFields || !local.isEmpty,
        ignoredFavoritedDate: result.ignoredFavoritedDate)
    }
    let differing = try differing(local, of: id, transaction)
    transaction.localChanges.set(differing, of: id, in: name)
    return WriteResult(
      isChange: result.isChange || !differing.isEmpty, isFavorite: result.isFavorite,
      ignoredFields: result.ignoredFields, ignoredFavoritedDate: result.ignoredFavoritedDate)
  }

  /// Refuses values that cannot be written, before anything is.
  private func check(_ local: [Field], of id: String) throws(HeartlogError) {
    guard !local.isEmpty else { return }
    do throws(MalformedError) {
      for field in local { try NameRules.checkFieldName(field.name) }
      try Event(library: name, item: id, action: .changed, favoritedDate: nil, fields: local)
        .validateContent(wallTime: 0)
    } catch {
      throw HeartlogError(.invalid, error.reason)
    }
  }

  private func differing(
    _ local: [Field], of id: String, _ transaction: WriteTransaction
  ) throws(HeartlogError) -> [Field] {
    guard !local.isEmpty else { return [] }
    // Once: until the closure ends, other processes wait for the store's lock.
    if !transaction.localChanges.areFresh {
      try store.localStore.refresh()
      transaction.localChanges.areFresh = true
    }
    let known = ItemFields(localValues(of: id))
    return local.filter { (known[$0.name] ?? .null) != $0.value }
  }
}

extension HeartlogState.Operation {
  /// This operation without its local fields, and these, sorted by the bytes of their names; of several with one name the last.
  fileprivate func split(_ isLocal: (Field) -> Bool) -> (logged: Self, local: [Field]) {
    let local = [].setting(fields.filter(isLocal).map { Field(name: $0.name, value: $0.value) })
    guard !local.isEmpty else { return (self, []) }
    switch self {
    case .add(let fields, let date):
      return (.add(fields: fields.filter { !isLocal($0) }, favoritedDate: date), local)
    case .toggle(let fields, let date):
      return (.toggle(fields: fields.filter { !isLocal($0) }, favoritedDate: date), local)
    case .set(let fields):
      return (.set(fields: fields.filter { !isLocal($0) }), local)
    case .overwrite(let membership, let fields):
      return (.overwrite(membership: membership, fields: fields.filter { !isLocal($0) }), local)
    case .exactly(let operation):
      return (.exactly(operation.split(isLocal).logged), local)
    case .remove: return (self, [])
    }
  }

  /// Whether the operation wrote its fields, as far as they differ.
  fileprivate func takesFields(_ result: WriteResult) -> Bool {
    switch self {
    case .add: result.isChange
    case .toggle: result.isFavorite
    case .set, .remove, .overwrite: true
    case .exactly(let operation): operation.takesFields(result)
    }
  }
}

extension Favorites {
  /// The names of the device-local fields of the item type.
  static var localFields: Set<String> { (Item.self as? any FavoriteItem.Type)?.localFields ?? [] }
}

/// The local values that a `write { }` closure has set. They are written once its commit is acknowledged.
struct LocalChanges: Sendable {
  private struct Key: Hashable {
    let library: String
    let id: UTF8Key
  }

  /// The values of each item, in the order in which the items were first set. Null clears a field.
  private(set) var items: [Event] = []
  private var indices: [Key: Int] = [:]
  /// How the values are written; as the options of the store say if nil.
  var durability: Durability?

  /// Whether the values that they are compared with include those of other processes.
  var areFresh = false

  var isEmpty: Bool { items.isEmpty }

  /// The values set for an item.
  func fields(of id: String, in library: String) -> [Field] {
    indices[Key(library: library, id: UTF8Key(id))].map { items[$0].fields } ?? []
  }

  /// Sets values, which replace those set earlier.
  mutating func set(_ fields: [Field], of id: String, in library: String) {
    guard !fields.isEmpty else { return }
    let key = Key(library: library, id: UTF8Key(id))
    let index = indices[key] ?? items.count
    let before = index < items.count ? items[index].fields : []
    indices[key] = index
    let item = Event(localFields: before.setting(fields), of: id, in: library)
    if index < items.count { items[index] = item } else { items.append(item) }
  }
}

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
    file = LocalFieldsFile(at: path, on: fileSystem, options: options.storage)
    let scheduler = options.storage.scheduler
    hub.onSubscription { [weak self] in
      // A failed read is retried, and its error thrown, by the next write or refresh.
      Polling { [weak self] in
        scheduler.run { [weak self] in try? self?.refresh() }
      }
    }
  }

  deinit { hub.finish() }

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
    if isNew { hub.tellRestart() }
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
    hub.tellRestart()
  }

  /// Erases the values of an item.
  func erase(_ id: String, in library: String) throws(HeartlogError) {
    if try heartlogErrors({ try file.erase(id, in: library, as: log.ownReplica) }) {
      hub.tellRestart()
    }
  }

  func flush() throws(HeartlogError) { try heartlogErrors { try file.flush(as: log.ownReplica) } }

  /// Releases everything that must not be held while the process is suspended.
  func suspend() throws(HeartlogError) {
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
