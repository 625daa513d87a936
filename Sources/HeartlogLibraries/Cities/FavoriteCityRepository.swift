import Heartlog

/// All cities that an app knows, with their flags: what its searches and lists read.
///
/// `InMemoryCityRepository` is one. The favorites themselves are in a `FavoriteCityRepository`.
public protocol CityRepository: Sendable {
  /// Replaces the catalog. Flags that were merged or toggled are kept; a favorite that the catalog does not
  /// contain stays a favorite.
  func load(_ cities: [City])

  /// All cities of the catalog, by name, country and id.
  var cities: CityList { get }

  /// The city with this id and its flag; `nil` if neither the catalog nor the favorites contain it.
  func city(_ id: City.ID) -> City?

  /// The cities of the catalog whose names begin with `prefix`, in the order of the catalog, ignoring case.
  ///
  /// - Parameters:
  ///   - prefix: the beginning of the names; empty for all cities.
  ///   - favoritesOnly: whether only favorites are found.
  func search(prefix: String, favoritesOnly: Bool) -> CityList
}

/// Stores which cities are favorites.
///
/// `DefaultFavoriteCityRepository` uses a store, `InMemoryCityRepository` memory. A repository must implement
/// two methods; the others have default implementations, which can be replaced by faster ones.
///
/// Each method throws `HeartlogError` if the favorites cannot be read or written; then nothing has changed.
public protocol FavoriteCityRepository: Sendable {
  /// Toggles the state in the repository, whatever the flag of the city is. A new city is recorded.
  ///
  /// - Returns: Whether the city is a favorite now.
  @discardableResult
  func toggleFavorite(for city: City) throws(HeartlogError) -> Bool

  /// Makes a city a favorite, or removes it. If nothing changes, nothing is written.
  func setFavorite(_ isFavorite: Bool, for city: City) throws(HeartlogError)

  /// The favorites, including those that are in no catalog.
  func fetchFavorites() throws(HeartlogError) -> [City]

  /// Whether the city with this id is a favorite.
  func isFavorite(_ id: City.ID) throws(HeartlogError) -> Bool

  /// The ids of the favorites, in no particular order.
  func favoriteIDs() throws(HeartlogError) -> [City.ID]

  /// Visits each favorite once, in no particular order. The repository must not be called meanwhile.
  ///
  /// - Parameters:
  ///   - visit: called with an id; returns whether the stored city is needed.
  ///   - body: called with the stored city before the next visit, if it is needed; `held` is `nil` if the
  ///     record is not a valid city.
  func forEachFavorite(
    visit: (City.ID) -> Bool, _ body: (_ id: City.ID, _ held: City?) -> Void
  ) throws(HeartlogError)

  /// The favorites with these ids, in the order of `fetchFavorites`.
  func favorites(_ ids: [City.ID]) throws(HeartlogError) -> [City]

  /// Updates favorites with the data of a catalog: names, countries and coordinates, but never whether and
  /// since when they are favorites.
  ///
  /// - Returns: The number of favorites that changed.
  @discardableResult
  func refreshFavorites(_ cities: [City]) throws(HeartlogError) -> Int

  /// Notices that favorites have changed, for one reader: one at once, and then one for any number of changes.
  var changes: FavoriteCityChanges { get }
}

// Based on `fetchFavorites()`: O(favorites) each.
extension FavoriteCityRepository {
  public func setFavorite(_ isFavorite: Bool, for city: City) throws(HeartlogError) {
    if try self.isFavorite(city.id) != isFavorite { try toggleFavorite(for: city) }
  }

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

extension FavoriteCityRepository {
  /// One notice, and no more: a repository that does not know of changes.
  public var changes: FavoriteCityChanges {
    AsyncStream { continuation in
      continuation.yield()
      continuation.finish()
    }
  }
}

/// Favorite cities in a store; a thin layer over `Favorites<City>`.
public struct DefaultFavoriteCityRepository: FavoriteCityRepository {
  /// The same favorites in the general interface: changes, models, history.
  public let favorites: Favorites<City>

  /// Creates a repository of existing favorites.
  public init(_ favorites: Favorites<City>) { self.favorites = favorites }

  /// Creates a repository of the favorites in a store.
  ///
  /// - Throws: `HeartlogError`, but only for an invalid library name, which this one is not.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    self.init(try store.favorites(of: City.self))
  }

  /// Toggles a city in one commit. A new favorite gets a new date, and the fields of `city` are stored.
  ///
  /// - Throws: `invalidItem` if a coordinate is not a number; `HeartlogError` if the store cannot be written.
  @discardableResult
  public func toggleFavorite(for city: City) throws(HeartlogError) -> Bool { try favorites.toggle(city) }

  public func setFavorite(_ isFavorite: Bool, for city: City) throws(HeartlogError) {
    if isFavorite { try favorites.add(city) } else { try favorites.remove(city) }
  }

  /// The favorites, newest first. A record that is not a valid city is left out, and reported by
  /// `favorites.load()`.
  public func fetchFavorites() -> [City] { favorites.list() }

  public func isFavorite(_ id: City.ID) -> Bool { favorites.contains(id) }

  public func favoriteIDs() -> [City.ID] { favorites.ids }

  /// Visits the favorites in one pass over the store's items.
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

  /// The favorites with these ids, newest first; one look-up per id. A record that is not a valid city is
  /// left out.
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

  /// Updates favorites with the data of a catalog. Each commit contains up to 10,000 cities that differ; if
  /// none does, nothing is written. One look-up per city.
  ///
  /// - Throws: `invalidItem` if a coordinate is not a number; `HeartlogError` if the store cannot be written.
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
