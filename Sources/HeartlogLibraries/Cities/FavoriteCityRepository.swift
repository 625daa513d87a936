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
