import Heartlog

/// Where an app keeps which cities are favorites.
///
/// `DefaultFavoriteCityRepository` keeps them in a store, `InMemoryCityRepository` in memory. Two calls make a repository; the others
/// come with it, and are there to be replaced where something quicker is at hand.
///
/// Each throws where the place that keeps the favorites cannot be read or written, as `HeartlogError`; then nothing has changed.
public protocol FavoriteCityRepository: Sendable {
  /// Flips what the repository holds, whatever the city itself says. A city that it has never seen is recorded.
  ///
  /// - Returns: whether the city is a favorite now.
  @discardableResult
  func toggleFavorite(for city: City) throws(HeartlogError) -> Bool

  /// The favorites, those that no catalog lists among them.
  func fetchFavorites() throws(HeartlogError) -> [City]

  /// Whether the city of that id is a favorite.
  func isFavorite(_ id: City.ID) throws(HeartlogError) -> Bool

  /// The ids of the favorites, in no order that means anything.
  func favoriteIDs() throws(HeartlogError) -> [City.ID]

  /// Visits each favorite once, in no order that means anything. The repository is not to be called meanwhile.
  ///
  /// - Parameters:
  ///   - visit: is given an id, and says whether it wants to know what is held of that favorite.
  ///   - body: is given it then, before the next visit: nil where it makes no city.
  func forEachFavorite(
    visit: (City.ID) -> Bool, _ body: (_ id: City.ID, _ held: City?) -> Void
  ) throws(HeartlogError)

  /// The favorites of these ids, in the order of `fetchFavorites`.
  func favorites(_ ids: [City.ID]) throws(HeartlogError) -> [City]

  /// Takes what a catalog says of favorites: names, countries and places, never whether and since when they are favorites.
  ///
  /// - Returns: of how many something was new.
  @discardableResult
  func refreshFavorites(_ cities: [City]) throws(HeartlogError) -> Int
}

// By way of `fetchFavorites()`: O(favorites) each.
extension FavoriteCityRepository {
  public func isFavorite(_ id: City.ID) throws(HeartlogError) -> Bool { try favoriteIDs().contains(id) }

  public func favoriteIDs() throws(HeartlogError) -> [City.ID] { try fetchFavorites().map(\.id) }

  public func forEachFavorite(
    visit: (City.ID) -> Bool, _ body: (_ id: City.ID, _ held: City?) -> Void
  ) throws(HeartlogError) {
    for city in try fetchFavorites() where visit(city.id) { body(city.id, city) }
  }

  public func favorites(_ ids: [City.ID]) throws(HeartlogError) -> [City] {
    guard !ids.isEmpty else { return [] }
    let wanted = Set(ids)
    return try fetchFavorites().filter { wanted.contains($0.id) }
  }

  public func refreshFavorites(_ cities: [City]) throws(HeartlogError) -> Int { 0 }
}

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

  /// One pass over the store's items.
  public func forEachFavorite(visit: (City.ID) -> Bool, _ body: (_ id: City.ID, _ held: City?) -> Void) {
    favorites.library.store.read { state in
      var id: City.ID?
      state.forEachFavorite(in: favorites.library.name, fields: Self.metadata) { text in
        id = City.ID(favoriteID: text)
        return id.map(visit) ?? false
      } _: { _, values in
        if let id { body(id, Self.city(id, values)) }
      }
    }
  }

  private static let metadata = ["name", "country", "lon", "lat"]

  private static func city(_ id: City.ID, _ values: [FieldValue]) -> City? {
    guard case .string(let name) = values[0], case .string(let country) = values[1],
      let lon = degrees(values[2]), let lat = degrees(values[3])
    else { return nil }
    return City(id: id, name: name, country: country, lon: lon, lat: lat, isFavorite: true)
  }

  private static func degrees(_ value: FieldValue) -> Double? {
    switch value {
    case .double(let degrees): degrees
    case .int64(let degrees): Double(exactly: degrees)
    default: nil
    }
  }

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
      state.forEachItem(ids, in: favorites.library.name, fields: Self.metadata) {
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
