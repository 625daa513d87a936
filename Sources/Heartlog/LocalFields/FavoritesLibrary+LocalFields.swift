import HeartlogFormat
import HeartlogStorage

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

  /// What this library shows of device-local fields; nil if none of its fields is.
  var localValues: LocalValues? {
    guard !localFields.isEmpty else { return nil }
    return LocalValues(
      names: localFields, library: name, stored: store.localStore,
      changes: WriteTransaction.joined(by: store)?.localChanges)
  }

  /// Tells when a local value may have changed; nil if no field is local.
  package var localChanges: Changes? {
    localFields.isEmpty ? nil : Changes(store.localStore.hub, library: name)
  }

  /// Items of the log, with the local values in place of logged ones.
  func withLocalValues(_ logged: [ItemState]) -> [ItemState] { localValues?.items(logged) ?? logged }

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
      return WriteResult(result, ignoredFields: result.ignoredFields || !local.isEmpty)
    }
    let differing = try differing(local, of: id, transaction)
    transaction.localChanges.set(differing, of: id, in: name)
    return WriteResult(result, isChange: result.isChange || !differing.isEmpty)
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
    let known = ItemFields(localValues?.fields(of: id) ?? [])
    return local.filter { (known[$0.name] ?? .null) != $0.value }
  }
}

/// The device-local values that a library shows in place of logged ones.
struct LocalValues {
  let names: Set<String>
  let library: String
  let stored: LocalStore
  /// The changes of the `write { }` closure that reads.
  let changes: LocalChanges?

  /// The local values of an item, sorted by the bytes of their names, without nulls.
  func fields(of id: String) -> [Field] {
    let stored = stored.fields(of: id, in: library).filter { names.contains($0.name) }
    let changed = changes?.fields(of: id, in: library) ?? []
    guard !changed.isEmpty else { return stored }
    return stored.setting(changed).filter { !$0.value.isNull && names.contains($0.name) }
  }

  /// An item without logged values of local fields, and with the local values.
  ///
  /// - Parameter logged: the item in the log; nil if it was never written there.
  func item(_ id: String, _ logged: ItemState?) -> ItemState? {
    let local = fields(of: id)
    guard let logged else {
      return local.isEmpty ? nil : ItemState(id: id, isFavorite: false, fields: local)
    }
    guard !local.isEmpty || logged.fields.contains(where: { names.contains($0.name) }) else { return logged }
    return ItemState(
      id: id, isFavorite: logged.isFavorite, favoritedMoment: logged.favoritedMoment,
      fields: ItemFields(logged.fields.filter { !names.contains($0.name) }.setting(local)))
  }

  /// Items of the log, as `item(_:_:)` shows each.
  func items(_ logged: [ItemState]) -> [ItemState] { logged.map { item($0.id, $0) ?? $0 } }

  /// All items of the log, as `item(_:_:)` shows each, and those that have local values only.
  func allItems(_ logged: [ItemState]) -> [ItemState] {
    var ids = stored.items(in: library)
    ids += changes?.items.filter { $0.library == library }.map(\.item) ?? []
    var known = Set(logged.map { UTF8Key($0.id) })
    let others = ids.filter { known.insert(UTF8Key($0)).inserted }
    return items(logged) + others.compactMap { item($0, nil) }
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
