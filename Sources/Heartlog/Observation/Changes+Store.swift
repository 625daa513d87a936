extension FavoritesStore {
  /// The changes of all libraries from now on: own writes, other processes' and other replicas' alike, in the order in which they became
  /// part of the state.
  ///
  /// One reader a stream; ask again for another. While a stream is open, other processes' commits are looked for every 250 ms.
  public var changes: Changes { Changes(projection.hub, library: nil) }
}

extension FavoritesLibrary {
  /// The changes of this library from now on.
  public var changes: Changes { Changes(store.projection.hub, library: name) }
}

extension Favorites {
  /// The changes of this library from now on.
  public var changes: Changes { library.changes }
}
