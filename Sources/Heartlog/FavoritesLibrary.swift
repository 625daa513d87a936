/// One library of a store, by item id and fields: what `Favorites` stands on, and what tools use.
public struct FavoritesLibrary: Sendable {
  /// The store that the library is part of.
  public let store: FavoritesStore
  /// 1 to 64 bytes of a–z, 0–9, `-`, `_` and `.`.
  public let name: String
  private let key: LibraryKey

  init(_ store: FavoritesStore, name: String) throws(HeartlogError) {
    try heartlogErrors { try NameRules.checkLibrary(name) }
    self.store = store
    self.name = name
    key = LibraryKey(name)
  }

  // MARK: - Reading

  /// An item with its fields, favorite or not; nil where it was never written to. One look-up. Inside `write { }` it has the closure's
  /// changes.
  public func item(_ id: String) -> ItemState? {
    if let transaction = WriteTransaction.joined(by: store) { return transaction.item(id, in: name) }
    return store.projection.item(id, in: key)
  }

  /// Whether an item is a favorite. One look-up; inside of `write { }` with the closure's changes.
  public func contains(_ id: String) -> Bool {
    if let transaction = WriteTransaction.joined(by: store) {
      return transaction.isFavorite(id, in: name)
    }
    return store.projection.isFavorite(id, in: key)
  }

  /// The favorites, newest first unless asked otherwise; ties by the bytes of their ids. Inside `write { }` they have the closure's
  /// changes. O(n log n) for all. The first few by date are found among those that were written last; by id, what came since the last
  /// snapshot is looked at as a whole.
  public func favorites(order: ListOrder = .newestFirst, limit: Int? = nil) -> [ItemState] {
    if let transaction = WriteTransaction.joined(by: store) {
      let favorites = order.sorted(transaction.items(in: name).filter(\.isFavorite))
      return limit.map { Array(favorites.prefix(max(0, $0))) } ?? favorites
    }
    return store.read { $0.favorites(in: name, order: order, limit: limit) }
  }

  /// Every visible item, and those that were removed: newest first, those without a date last, by id. O(n log n).
  public func all() -> [ItemState] { store.read { $0.all(in: name) } }

  /// Every item that was ever written to, in no order that means anything. Inside `write { }` they have the closure's changes.
  public func items() -> [ItemState] {
    if let transaction = WriteTransaction.joined(by: store) { return transaction.items(in: name) }
    return store.read { Array($0.items(in: name)) }
  }

  /// How many favorites, items and events the library has. O(1); inside of `write { }` as they were before the closure.
  public var counts: LibraryCounts { store.read { $0.counts(of: name) } }

  // MARK: - Writing

  /// Makes an item a favorite; of its fields, writes those that differ. What is a favorite already stays as it is.
  ///
  /// - Parameters:
  ///   - id: 1 to 4,096 bytes of UTF-8 without control characters.
  ///   - fields: in any order; of several with one name the last counts.
  ///   - favoritedDate: milliseconds since 1970, negative before it; the time of the commit where nil.
  /// - Throws: `invalid` for an id or a field that breaks a rule; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func add(
    _ id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil
  ) throws(HeartlogError) -> WriteResult {
    try store.perform(.add(fields: fields, favoritedDate: favoritedDate), on: id, in: name)
  }

  /// Makes an item no favorite. Its fields stay.
  ///
  /// - Throws: `invalid` for an id that breaks a rule; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func remove(_ id: String) throws(HeartlogError) -> WriteResult {
    try store.perform(.remove, on: id, in: name)
  }

  /// Flips what the store holds. Fields and date are taken where it switches on; where it switches off, the result says that they were not.
  ///
  /// - Throws: `invalid` for an id or a field that breaks a rule; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func toggle(
    _ id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil
  ) throws(HeartlogError) -> WriteResult {
    try store.perform(.toggle(fields: fields, favoritedDate: favoritedDate), on: id, in: name)
  }

  /// Writes fields of an item, favorite or not; a null value clears one. Only what differs is written.
  ///
  /// - Throws: `invalid` for an id or a field that breaks a rule; what every write throws: <doc:WhatCanGoWrong>.
  @discardableResult
  public func set(_ fields: [Field], of id: String) throws(HeartlogError) -> WriteResult {
    try store.perform(.set(fields: fields), on: id, in: name)
  }
}

extension FavoritesLibrary {
  /// Does what `operation` asks of an item.
  @discardableResult
  package func perform(
    _ operation: HeartlogState.Operation, on id: String
  ) throws(HeartlogError) -> WriteResult {
    try store.perform(operation, on: id, in: name)
  }
}

extension FavoritesStore {
  /// The library of that name, for untyped use. A library needs no making: it is there once something was written to it.
  ///
  /// - Throws: `invalid` for a name that is none.
  public func library(_ name: String) throws(HeartlogError) -> FavoritesLibrary {
    try FavoritesLibrary(self, name: name)
  }
}
