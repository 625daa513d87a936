#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The writes of `Favorites` for tasks: see `AsyncFavoritesStore`.
public struct AsyncFavorites<Item: Codable & Identifiable & Sendable>: Sendable where Item.ID: FavoriteID {
  let favorites: Favorites<Item>

  /// Makes an item a favorite. What is one already stays as it is, its date included.
  ///
  /// - Parameters:
  ///   - item: what is to be a favorite.
  ///   - date: since when; now where nil.
  /// - Returns: whether it was none before.
  @discardableResult
  public func add(_ item: Item, since date: Date? = nil) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.add(item, since: date) }
  }

  /// Flips what the store holds, whatever the item itself says.
  ///
  /// - Returns: whether it is a favorite now.
  @discardableResult
  public func toggle(_ item: Item) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.toggle(item) }
  }

  /// Makes the item of that id no favorite. What is known of it stays.
  ///
  /// - Returns: whether it was one before.
  @discardableResult
  public func remove(_ id: Item.ID) async throws(HeartlogError) -> Bool {
    try await write { favorites throws(HeartlogError) in try favorites.remove(id) }
  }

  /// Makes an item no favorite.
  @discardableResult
  public func remove(_ item: Item) async throws(HeartlogError) -> Bool { try await remove(item.id) }

  /// Writes what is new about an item, favorite or not: only fields that differ, and nothing about its being a favorite.
  ///
  /// - Returns: whether anything differed.
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
  /// The writes of these favorites for tasks, which must not wait for a disk. What needs more than one of them, such as a batch, goes
  /// into `store.async.write { }`.
  public var async: AsyncFavorites<Item> { AsyncFavorites(favorites: self) }
}
