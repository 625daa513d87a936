#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The writes of `Favorites`, for tasks: see `AsyncFavoritesStore`.
public struct AsyncFavorites<Item: Codable & Identifiable & Sendable>: Sendable where Item.ID: FavoriteID {
  let favorites: Favorites<Item>

  /// Makes an item a favorite. An item that already is a favorite stays one, with its date.
  ///
  /// - Parameters:
  ///   - item: the item. Its fields that differ from the stored ones are written too.
  ///   - date: the favorited date; the time of the commit if nil.
  /// - Returns: whether it was not a favorite before.
  @discardableResult
  public func add(_ item: Item, since date: Date? = nil) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.add(item, since: date) }
  }

  /// Makes the item with this id a favorite. Its stored fields stay as they are.
  ///
  /// - Returns: whether it was not a favorite before.
  @discardableResult
  public func add(_ id: Item.ID, since date: Date? = nil) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.add(id, since: date) }
  }

  /// Toggles whether the item with this id is a favorite. Its stored fields stay as they are.
  ///
  /// - Returns: whether it is a favorite now.
  @discardableResult
  public func toggle(_ id: Item.ID) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.toggle(id) }
  }

  /// Changes the stored item with this id as it is now, as ``Favorites/update(_:_:)`` does.
  ///
  /// - Returns: whether any field differed.
  @discardableResult
  public func update(
    _ id: Item.ID, _ change: @escaping @Sendable (inout Item) throws -> Void
  ) async throws -> Bool {
    try await favorites.library.store.async.write { [favorites] in try favorites.update(id, change) }
  }

  /// Toggles whether an item is a favorite. The stored state decides, not the item's own properties.
  ///
  /// - Returns: whether it is a favorite now.
  @discardableResult
  public func toggle(_ item: Item) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.toggle(item) }
  }

  /// Removes the item with this id from the favorites. Its stored fields stay.
  ///
  /// - Returns: whether it was a favorite before.
  @discardableResult
  public func remove(_ id: Item.ID) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.remove(id) }
  }

  /// Removes an item from the favorites. Only its id is used.
  ///
  /// - Returns: whether it was a favorite before.
  @discardableResult
  public func remove(_ item: Item) async throws(HeartlogError) -> Bool { try await remove(item.id) }

  /// Updates the stored fields of an item, favorite or not. Writes only fields that differ. The item's own `isFavorite` and
  /// `favoritedDate` are ignored.
  ///
  /// - Returns: whether any field differed.
  @discardableResult
  public func update(_ item: Item) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.update(item) }
  }

  /// Sets the note of an item, favorite or not. Nil or an empty note clears it.
  ///
  /// - Returns: whether the note changed.
  @discardableResult
  public func setNote(_ note: String?, of id: Item.ID) async throws(HeartlogError) -> Bool {
    let id = id.favoriteID
    return try await write { favorites throws(HeartlogError) in try favorites.library.setNote(note, of: id) }
  }

  // MARK: - Batches

  /// Makes many items favorites, as `Favorites.add(contentsOf:since:progress:)` does.
  ///
  /// - Returns: how many were not favorites before.
  @discardableResult
  public func add(
    contentsOf items: some Sequence<Item> & Sendable, since date: Date? = nil,
    progress: (@Sendable (_ items: Int) -> Void)? = nil
  ) async throws(HeartlogError) -> Int {
    try await batch { favorites throws(HeartlogError) in
      try favorites.add(contentsOf: items, since: date, progress: progress)
    }
  }

  /// Removes many items from the favorites, as `Favorites.remove(contentsOf:progress:)` does.
  ///
  /// - Returns: how many were favorites before.
  @discardableResult
  public func remove(
    contentsOf ids: some Sequence<Item.ID> & Sendable, progress: (@Sendable (_ items: Int) -> Void)? = nil
  ) async throws(HeartlogError) -> Int {
    try await batch { favorites throws(HeartlogError) in
      try favorites.remove(contentsOf: ids, progress: progress)
    }
  }

  /// Updates the stored fields of many items, as `Favorites.update(contentsOf:progress:)` does.
  ///
  /// - Returns: how many items had a field that differed.
  @discardableResult
  public func update(
    contentsOf items: some Sequence<Item> & Sendable, progress: (@Sendable (_ items: Int) -> Void)? = nil
  ) async throws(HeartlogError) -> Int {
    try await batch { favorites throws(HeartlogError) in
      try favorites.update(contentsOf: items, progress: progress)
    }
  }

  /// Takes over favorites that an app kept elsewhere, as `Favorites.takeOver(_:origin:progress:)` does.
  ///
  /// - Returns: how many were new.
  @discardableResult
  public func takeOver(
    _ old: some Sequence<(item: Item, since: Date?)> & Sendable, origin: String,
    progress: (@Sendable (_ items: Int) -> Void)? = nil
  ) async throws(HeartlogError) -> Int {
    try await batch { favorites throws(HeartlogError) in
      try favorites.takeOver(old, origin: origin, progress: progress)
    }
  }

  private func batch(
    _ body: @escaping @Sendable (Favorites<Item>) throws(HeartlogError) -> Int
  ) async throws(HeartlogError) -> Int {
    try await favorites.library.store.async.run { [favorites] _ throws(HeartlogError) in
      try body(favorites)
    }
  }

  private func write<R: Sendable>(
    _ body: @escaping @Sendable (Favorites<Item>) throws(HeartlogError) -> R
  ) async throws(HeartlogError) -> R {
    try await favorites.library.store.async.writeAsOne { [favorites] () throws(HeartlogError) in
      try body(favorites)
    }
  }
}

extension Favorites {
  /// The writes of these favorites for tasks, which must not block on a disk. For several different writes in one commit, use
  /// `store.async.write { }`.
  public var async: AsyncFavorites<Item> { AsyncFavorites(favorites: self) }
}
