/// The writes of a library, for tasks: see `AsyncFavoritesStore`.
public struct AsyncFavoritesLibrary: Sendable {
  let library: FavoritesLibrary

  /// Makes an item a favorite and writes those of its fields that differ. An item that already is a favorite stays one, with its date.
  ///
  /// - Parameters:
  ///   - id: the item's id.
  ///   - fields: without duplicate names.
  ///   - favoritedDate: milliseconds since 1970; the time of the commit if nil.
  @discardableResult
  public func add(
    _ id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil
  ) async throws(HeartlogError) -> WriteResult {
    try await write { library throws(HeartlogError) in
      try library.add(id, fields: fields, favoritedDate: favoritedDate)
    }
  }

  /// Removes an item from the favorites. Its fields stay.
  @discardableResult
  public func remove(_ id: String) async throws(HeartlogError) -> WriteResult {
    try await write { library throws(HeartlogError) in try library.remove(id) }
  }

  /// Toggles whether an item is a favorite. The fields and the date are written only when the item becomes a favorite.
  @discardableResult
  public func toggle(
    _ id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil
  ) async throws(HeartlogError) -> WriteResult {
    try await write { library throws(HeartlogError) in
      try library.toggle(id, fields: fields, favoritedDate: favoritedDate)
    }
  }

  /// Writes fields of an item, favorite or not. A null value clears a field. Fields that do not differ are not written.
  @discardableResult
  public func set(_ fields: [Field], of id: String) async throws(HeartlogError) -> WriteResult {
    try await write { library throws(HeartlogError) in try library.set(fields, of: id) }
  }

  private func write<R: Sendable>(
    _ body: @escaping @Sendable (FavoritesLibrary) throws(HeartlogError) -> R
  ) async throws(HeartlogError) -> R {
    try await library.store.async.writeAsOne { [library] () throws(HeartlogError) in try body(library) }
  }
}

extension FavoritesLibrary {
  /// The writes of this library for tasks, which must not block on a disk.
  public var async: AsyncFavoritesLibrary { AsyncFavoritesLibrary(library: self) }
}
