import Heartlog

/// Favorite cities in a store: thin over `Favorites<City>`.
public struct DefaultFavoriteCityRepository: FavoriteCityRepository {
  /// The same favorites in the words of the store: changes, models, history.
  public let favorites: Favorites<City>

  /// The repository of favorites that are at hand.
  public init(_ favorites: Favorites<City>) { self.favorites = favorites }

  /// The repository of a store.
  ///
  /// - Throws: `HeartlogError`, which the name of this library never causes.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    self.init(try store.favorites(of: City.self))
  }

  /// One commit. Switched on, the city has a new favorited date, and what is known of it is taken from `city`.
  ///
  /// - Throws: `invalidItem` for coordinates that are no numbers; `HeartlogError` where the store cannot be written.
  @discardableResult
  public func toggleFavorite(for city: City) throws(HeartlogError) -> Bool { try favorites.toggle(city) }

  /// Newest first. A record that is no city is left out, and named by `favorites.load()`.
  public func fetchFavorites() -> [City] { favorites.list() }

  public func isFavorite(_ id: City.ID) -> Bool { favorites.contains(id) }

  public func favoriteIDs() -> [City.ID] { favorites.ids }

  /// Newest first; one look-up an id. A record that is no city is left out.
  public func favorites(_ ids: [City.ID]) throws(HeartlogError) -> [City] {
    var found: [(state: ItemState, city: City)] = []
    for id in ids {
      guard let state = favorites.library.item(id.favoriteID), state.isFavorite,
        let city = try? favorites.item(id)
      else { continue }
      found.append((state, city))
    }
    found.sort { a, b in
      let (first, second) = (a.state.favoritedDate ?? .min, b.state.favoritedDate ?? .min)
      return first != second
        ? first > second : a.state.id.utf8.lexicographicallyPrecedes(b.state.id.utf8)
    }
    return found.map(\.city)
  }

  /// One commit for each 10,000 that differ, and none where nothing does. One look-up a city.
  ///
  /// - Throws: `invalidItem` for coordinates that are no numbers; `HeartlogError` where the store cannot be written.
  @discardableResult
  public func refreshFavorites(_ cities: [City]) throws(HeartlogError) -> Int {
    var differing: [City] = []
    favorites.library.store.read { state in
      let ids = cities.lazy.map(\.id.favoriteID)
      state.forEachItem(ids, in: favorites.library.name, fields: ["name", "country", "lon", "lat"]) {
        index, isFavorite, held in
        let city = cities[index]
        let isKnown =
          held[0] == .string(city.name) && held[1] == .string(city.country)
          && held[2] == FieldValue.number(city.lon) && held[3] == FieldValue.number(city.lat)
        if isFavorite, !isKnown { differing.append(city) }
      }
    }
    var rest = differing[...]
    while !rest.isEmpty {
      let part = rest.prefix(10_000)
      rest = rest.dropFirst(part.count)
      try favorites.library.store.writeAsOne { () throws(HeartlogError) in
        for city in part { try favorites.update(city) }
      }
    }
    return differing.count
  }
}
