extension FavoritesStore {
  /// The changes of all libraries from now on, by this store, other processes and other replicas, in the order in which they become part of
  /// the state.
  ///
  /// Each stream has one reader; get another stream for another reader. While a stream is open, other processes announce their commits; where
  /// they cannot, the store polls every 250 ms.
  public var changes: Changes { Changes(projection.hub, library: nil) }

  /// The same, with those of local values.
  package var allChanges: Changes { Changes(projection.hub, localStore.hub, library: nil) }
}

extension FavoritesLibrary {
  /// The changes of this library from now on.
  public var changes: Changes { Changes(store.projection.hub, library: name) }
}

extension Favorites {
  /// The changes of this library from now on.
  public var changes: Changes { library.changes }
}
