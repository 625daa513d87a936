import Heartlog
import HeartlogLibraries

/// The screens of an app like Smart City: a catalog that a service sends, with the hearts that the store remembers.
struct CityScreen {
  let favorites: Favorites<City>
  /// The catalog in its own order, with the hearts of the store.
  private(set) var cities: [City] = []
  /// Favorites that the catalog does not list: they stay favorites, and the app can show them.
  private(set) var orphans: [City] = []

  /// Takes a catalog as it was loaded, at the start and at every refresh.
  ///
  /// The hearts come from the store alone, whatever the catalog says; names and places come from the catalog.
  mutating func show(_ catalog: [City]) throws {
    let merge = favorites.merge(into: catalog, id: \.id) { city, isFavorite, _ in city.isFavorite = isFavorite
    }
    cities = merge.catalog
    orphans = try merge.orphans.compactMap { try City.ID(favoriteID: $0.id).flatMap(favorites.item) }
    // What a favorite is called follows the catalog: one commit for all of them, and none where nothing differs.
    try favorites.library.store.write {
      for city in cities where city.isFavorite { try favorites.update(city) }
    }
  }

  /// A tap on a city's heart.
  ///
  /// - Returns: the city as the screen shows it now; nil where the catalog has no such city.
  mutating func tap(_ id: City.ID) throws -> City? {
    guard let index = cities.firstIndex(where: { $0.id == id }) else { return nil }
    cities[index].isFavorite = try favorites.toggle(cities[index])
    return cities[index]
  }
}

extension City {
  /// One row of a screen.
  var row: String { "\(isFavorite ? "♥" : "♡") \(flagEmoji) \(name)" }
}
