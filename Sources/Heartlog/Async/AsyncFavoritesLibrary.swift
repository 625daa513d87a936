/// The writes of a library for tasks: see `AsyncFavoritesStore`.
public struct AsyncFavoritesLibrary: Sendable {
  let library: FavoritesLibrary

  /// Makes an item a favorite; of its fields, writes those that differ. What is a favorite already stays as it is.
  ///
  /// - Parameters:
  ///   - id: the item's id.
  ///   - fields: without duplicate names.
  ///   - favoritedDate: milliseconds since 1970; the time of the commit where nil.
  @discardableResult
  public func add(
    _ id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil
  ) async throws(HeartlogError) -> WriteResult {
    try await write { library throws(HeartlogError) in
      try library.add(id, fields: fields, favoritedDate: favoritedDate)
    }
  }

  /// Makes an item no favorite. Its fields stay.
  @discardableResult
  public func remove(_ id: String) async throws(HeartlogError) -> WriteResult {
    try await write { library throws(HeartlogError) in try library.remove(id) }
  }

  /// Flips what the store holds. Fields and date are taken where it switches on.
  @discardableResult
  public func toggle(
    _ id: String, fields: [Field] = [], favoritedDate: Milliseconds? = nil
  ) async throws(HeartlogError) -> WriteResult {
    try await write { library throws(HeartlogError) in
      try library.toggle(id, fields: fields, favoritedDate: favoritedDate)
    }
  }

  /// Writes fields of an item, favorite or not; a null value clears one. Only what differs is written.
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
  /// The writes of this library for tasks, which must not wait for a disk.
  public var async: AsyncFavoritesLibrary { AsyncFavoritesLibrary(library: self) }
}
