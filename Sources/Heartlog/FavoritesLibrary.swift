/// A library of a store, accessed by item id and fields. `Favorites` is built on it, and tools use it directly.
public struct FavoritesLibrary: Sendable {
  /// The store that contains the library.
  public let store: FavoritesStore
  /// 1 to 64 bytes of a–z, 0–9, `-`, `_` and `.`.
  public let name: String
  let key: LibraryKey
  /// The fields that stay on this device. Empty for untyped access, which shows what is logged.
  package internal(set) var localFields: Set<String> = []
  /// The type whose texts the ids are; nil for untyped access, where any text may be an id.
  var idType: (any FavoriteID.Type)?

  init(_ store: FavoritesStore, name: String) throws(HeartlogError) {
    try heartlogErrors { try NameRules.checkLibrary(name) }
    self.store = store
    self.name = name
    key = LibraryKey(name)
  }

  // MARK: - Reading

  /// Returns an item with its fields, favorite or not; nil if it was never written. One lookup. Inside `write { }` it sees the closure's
  /// changes.
  public func item(_ id: String) -> ItemState? {
    let logged: ItemState?
    if let transaction = WriteTransaction.joined(by: store) {
      logged = transaction.item(id, in: name)
    } else {
      store.refreshForReading()
      logged = store.projection.item(id, in: key)
    }
    return localFields.isEmpty ? logged : withLocalValues(id, logged)
  }

  /// Returns whether an item is a favorite. One lookup. Inside `write { }` it sees the closure's changes.
  public func contains(_ id: String) -> Bool {
    if let transaction = WriteTransaction.joined(by: store) {
      return transaction.isFavorite(id, in: name)
    }
    store.refreshForReading()
    return store.projection.isFavorite(id, in: key)
  }

  /// Returns the favorites, newest first by default. Of two favorites of the same millisecond, the one that was written last is the newer
  /// one. Inside `write { }` they include the closure's changes.
  ///
  /// - Parameters:
  ///   - order: the order of the result.
  ///   - limit: the maximum number of items; all if nil.
  /// - Complexity: O(n log n) for all favorites. With a limit, an order by date usually looks only at the most recently written items; the
  ///   order by id looks at everything written since the last snapshot.
  public func favorites(order: ListOrder = .newestFirst, limit: Int? = nil) -> [ItemState] {
    if let transaction = WriteTransaction.joined(by: store) {
      let favorites = order.sorted(transaction.items(in: name).filter(\.isFavorite))
      return withLocalValues(limit.map { Array(favorites.prefix(max(0, $0))) } ?? favorites)
    }
    return withLocalValues(store.read { $0.favorites(in: name, order: order, limit: limit) })
  }

  /// Returns the favorites newest first, then by id every other item that has a value or once was a favorite. O(n log n).
  package func all() -> [ItemState] {
    let logged = store.read { $0.all(in: name) }
    guard !localFields.isEmpty else { return logged }
    let tombstones = Set(logged.lazy.filter(\.isTombstone).map { UTF8Key($0.id) })
    return ListOrder.newestFirst.sorted(
      allWithLocalValues(logged).filter { $0.isVisible || tombstones.contains(UTF8Key($0.id)) })
  }

  /// Returns every item that was ever written, in no particular order. Inside `write { }` they include the closure's changes.
  public func items() -> [ItemState] {
    let logged =
      if let transaction = WriteTransaction.joined(by: store) {
        transaction.items(in: name)
      } else {
        store.read { Array($0.items(in: name)) }
      }
    return localFields.isEmpty ? logged : allWithLocalValues(logged)
  }

  /// The number of favorites, items and events in the library. O(1). Inside `write { }` these are the numbers without
  /// the closure's changes.
  public var counts: LibraryCounts { store.read { $0.counts(of: name) } }

  // MARK: - Writing

  /// Makes an item a favorite and writes those of its fields that differ. An item that already is a favorite is not changed. Use
  /// `set(_:of:)` for its fields.
  ///
  /// - Parameters:
  ///   - id: 1 to 4,096 bytes of UTF-8 without control characters.
  ///   - fields: in any order; if a name occurs more than once, the last value counts.
  ///   - favoritedDate: milliseconds since 1970, negative before it; the time of the commit if nil.
  /// - Returns: whether it was not a favorite before.
  /// - Throws: `invalid` for an invalid id or field, and for an id that is not one of the item type's; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func add(
    _ id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil
  ) throws(HeartlogError) -> Bool {
    try checkForm(of: id)
    return try perform(.add(fields: fields, favoritedDate: favoritedDate), on: id).isChange
  }

  /// Removes an item from the favorites. Its fields stay.
  ///
  /// - Returns: whether it was a favorite before.
  /// - Throws: `invalid` for an invalid id; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(_ id: String) throws(HeartlogError) -> Bool {
    try checkForm(of: id)
    return try perform(.remove, on: id).isChange
  }

  /// Toggles whether an item is a favorite. The fields and the date are written only when the item becomes a favorite.
  ///
  /// - Parameters:
  ///   - id: 1 to 4,096 bytes of UTF-8 without control characters.
  ///   - fields: as for `add(_:fields:favoritedDate:)`.
  ///   - favoritedDate: as for `add(_:fields:favoritedDate:)`.
  /// - Returns: whether it is a favorite now.
  /// - Throws: `invalid` for an invalid id or field, and for an id that is not one of the item type's; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func toggle(
    _ id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil
  ) throws(HeartlogError) -> Bool {
    try checkForm(of: id)
    return try perform(.toggle(fields: fields, favoritedDate: favoritedDate), on: id).isFavorite
  }

  /// Writes fields of an item, favorite or not. A null value clears a field. Fields that do not differ are not written.
  ///
  /// - Parameters:
  ///   - fields: in any order; if a name occurs more than once, the last value counts.
  ///   - id: 1 to 4,096 bytes of UTF-8 without control characters.
  /// - Returns: whether any field differed.
  /// - Throws: `invalid` for an invalid id or field, and for an id that is not one of the item type's; any error of a write: see <doc:WhatCanGoWrong>.
  @discardableResult
  public func set(_ fields: [Field], of id: String) throws(HeartlogError) -> Bool {
    try checkForm(of: id)
    return try perform(.set(fields: fields), on: id).isChange
  }

  /// Refuses a text that no item of the library's type has as its id.
  private func checkForm(of id: String) throws(HeartlogError) {
    guard let idType, idType.init(favoriteID: id) == nil else { return }
    throw HeartlogError(
      .invalid,
      "\"\(id)\" is not an id of \(name), whose items would not be found by it; pass the favoriteID of an \(idType)"
    )
  }
}

extension FavoritesLibrary {
  /// Performs an operation on an item.
  @discardableResult
  package func perform(
    _ operation: HeartlogState.Operation, on id: String
  ) throws(HeartlogError) -> WriteResult {
    guard localFields.isEmpty else { return try performApart(operation, on: id) }
    return try store.perform(operation, on: id, in: key)
  }
}

extension FavoritesLibrary: CustomStringConvertible {
  /// The name, as in `library recipes`.
  public var description: String { "library \(name)" }
}

extension FavoritesStore {
  /// Returns the library with this name, for untyped access. A library need not be created first: it exists once something is written to
  /// it. One whose name begins with `heartlog.` is reserved for the store: a write to it throws `invalid`.
  ///
  /// - Throws: `invalid` for an invalid name.
  public func library(_ name: String) throws(HeartlogError) -> FavoritesLibrary {
    try FavoritesLibrary(self, name: name)
  }
}
