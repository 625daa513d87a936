import Heartlog

/// The result of a merge.
public struct CityMergeReport: Sendable, Hashable {
  /// The number of favorites, including orphans.
  public let favoriteCount: Int
  /// Favorites that are not in the catalog, in the repository's order, which for a store is newest first.
  /// They stay favorites.
  public let orphans: [City]
  /// The number of favorites for which the catalog had new data, which the repository has stored.
  public let refreshedCount: Int
}

/// Merges the favorites of a repository into the catalog that is shown.
///
/// A flag is replaced: a city that is not a favorite in the repository is not a favorite, whatever the
/// catalog says. Names and coordinates are the catalog's, and the favorite in the repository is updated with
/// them; its date is unchanged. The order of the catalog is unchanged.
public protocol MergePersistedFavoritesUseCase: Sendable {
  /// Merges into the cities in memory. Later searches and lists use the new flags.
  ///
  /// - Returns: The result of the merge.
  /// - Throws: what the repository throws if it cannot be read, or cannot store the catalog's data for its
  ///   favorites.
  @discardableResult
  func execute() throws(HeartlogError) -> CityMergeReport
}

/// Toggles a city as a favorite.
public protocol ToggleFavoriteCityUseCase: Sendable {
  /// Toggles the state in the repository, whatever `city.isFavorite` is. A city that is new to the repository
  /// is recorded.
  ///
  /// - Returns: Whether the city is a favorite now.
  /// - Throws: what the repository throws; then neither the repository nor the catalog has changed.
  @discardableResult
  func execute(_ city: City) throws(HeartlogError) -> Bool
}

/// Fetches all cities that are favorites.
public protocol FetchFavoriteCitiesUseCase: Sendable {
  /// The favorites in the repository's order, including those that are not in the catalog.
  ///
  /// - Throws: what the repository throws.
  func execute() throws(HeartlogError) -> [City]
}

/// The merge of an app: from a repository into the catalog in memory, or into an array of the app's own.
public struct DefaultMergePersistedFavoritesUseCase: MergePersistedFavoritesUseCase {
  let repository: any FavoriteCityRepository
  let cities: InMemoryCityRepository

  /// Creates the use case.
  ///
  /// - Parameters:
  ///   - repository: the repository of the favorites.
  ///   - cities: the catalog that the screens show.
  public init(
    repository: any FavoriteCityRepository, cities: InMemoryCityRepository = InMemoryCityRepository()
  ) {
    self.repository = repository
    self.cities = cities
  }

  /// Merges into the cities in memory, with one look-up per favorite and none for other cities. Later
  /// searches and lists use the new flags.
  ///
  /// - Returns: The result of the merge.
  /// - Throws: what the repository throws if it cannot be read, or cannot store the catalog's data for its
  ///   favorites.
  @discardableResult
  public func execute() throws(HeartlogError) -> CityMergeReport {
    let (listed, unlisted) = try cities.takeFlags(from: repository)
    let orphans = try favorites(unlisted)
    cities.note(unlisted: orphans)
    return try report(listed.count + unlisted.count, listed, orphans)
  }

  /// Merges into an app's own array in place, keeping its order. One pass with one look-up per city. Only cities whose flags
  /// change are written to, so an array that has no changes or no other reference is not copied.
  ///
  /// - Returns: The result of the merge.
  /// - Throws: as `execute()`. The flags are set even if the repository cannot store the catalog's data for
  ///   its favorites.
  @discardableResult
  public func execute(in catalog: inout [City]) throws(HeartlogError) -> CityMergeReport {
    let ids = Set(try repository.favoriteIDs())
    var unlisted = ids
    var listed: [City] = []
    for index in catalog.indices {
      let isFavorite = ids.contains(catalog[index].id)
      if catalog[index].isFavorite != isFavorite { catalog[index].isFavorite = isFavorite }
      // If several cities have the same id, the favorite gets the data of the first.
      if isFavorite, unlisted.remove(catalog[index].id) != nil { listed.append(catalog[index]) }
    }
    return try report(ids.count, listed, try favorites(unlisted))
  }

  /// The favorites with these ids, in the order of the repository.
  private func favorites(_ ids: Set<City.ID>) throws(HeartlogError) -> [City] {
    ids.isEmpty ? [] : try repository.fetchFavorites().filter { ids.contains($0.id) }
  }

  /// Gives the repository the catalog's data for its favorites.
  private func report(
    _ favoriteCount: Int, _ listed: [City], _ orphans: [City]
  ) throws(HeartlogError) -> CityMergeReport {
    CityMergeReport(
      favoriteCount: favoriteCount, orphans: orphans,
      refreshedCount: listed.isEmpty ? 0 : try repository.refreshFavorites(listed))
  }
}

/// The toggle of an app: in a repository, and then in the catalog in memory.
public struct DefaultToggleFavCityUseCase: ToggleFavoriteCityUseCase {
  let repository: any FavoriteCityRepository
  let cities: InMemoryCityRepository?

  /// Creates the use case.
  ///
  /// - Parameters:
  ///   - repository: the repository of the favorites.
  ///   - cities: the catalog that the screens show; its flag is set after the repository has changed.
  public init(repository: any FavoriteCityRepository, cities: InMemoryCityRepository? = nil) {
    self.repository = repository
    self.cities = cities
  }

  @discardableResult
  public func execute(_ city: City) throws(HeartlogError) -> Bool {
    let isFavorite = try repository.toggleFavorite(for: city)
    if let cities, cities !== (repository as AnyObject) { try cities.takeFlag(of: city, from: repository) }
    return isFavorite
  }
}

/// The favorites of a repository, with the data of the catalog.
public struct DefaultFetchFavoriteCitiesUseCase: FetchFavoriteCitiesUseCase {
  let repository: any FavoriteCityRepository
  let cities: InMemoryCityRepository?

  /// Creates the use case.
  ///
  /// - Parameters:
  ///   - repository: the repository of the favorites.
  ///   - cities: the catalog; its data for a favorite takes precedence.
  public init(repository: any FavoriteCityRepository, cities: InMemoryCityRepository? = nil) {
    self.repository = repository
    self.cities = cities
  }

  /// The favorites in the repository's order, which for a store is newest first, including those that are not
  /// in the catalog.
  ///
  /// - Throws: what the repository throws; one based on a store never throws.
  public func execute() throws(HeartlogError) -> [City] {
    try repository.fetchFavorites().map { favorite in
      var city = cities?.city(favorite.id) ?? favorite
      city.isFavorite = true
      return city
    }
  }
}
