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

  /// Updates the stored fields of an item, favorite or not. Writes only fields that differ, and does not change whether the item is a
  /// favorite.
  ///
  /// - Returns: whether any field differed.
  @discardableResult
  public func update(_ item: Item) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.update(item) }
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
  /// The writes of these favorites for tasks, which must not block on a disk. For several writes in one commit, such as a batch, use
  /// `store.async.write { }`.
  public var async: AsyncFavorites<Item> { AsyncFavorites(favorites: self) }
}
