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
    let (count, unlisted, toRefresh) = try cities.takeFlags(from: repository)
    let orphans = try repository.favorites(unlisted)
    cities.note(unlisted: orphans, refreshed: [])
    let refreshedCount = toRefresh.isEmpty ? 0 : try repository.refreshFavorites(toRefresh)
    cities.note(unlisted: [], refreshed: toRefresh)
    return CityMergeReport(favoriteCount: count, orphans: orphans, refreshedCount: refreshedCount)
  }

  /// Merges into an app's own array, keeping its order. One pass with one look-up per city.
  ///
  /// An array with no other reference is not copied if it is passed as `execute(consume all)` or
  /// `execute(in: &all)`.
  ///
  /// - Returns: The array with the flags of the repository, and the result of the merge.
  /// - Throws: as `execute()`.
  public func execute(
    _ catalog: consuming [City]
  ) throws(HeartlogError) -> (cities: [City], report: CityMergeReport) {
    let report = try execute(in: &catalog)
    return (catalog, report)
  }

  /// Merges into an app's own array in place. One pass with one look-up per city. Only cities whose flags
  /// change are written to, so an array that has no changes or no other reference is not copied.
  ///
  /// - Returns: The result of the merge.
  /// - Throws: as `execute()`. The flags are set even if the repository cannot store the catalog's data for
  ///   its favorites.
  @discardableResult
  public func execute(in catalog: inout [City]) throws(HeartlogError) -> CityMergeReport {
    let favorites = try HeldFavorites(of: repository)
    var isListed = [Bool](repeating: false, count: favorites.ids.count)
    var differing: [City] = []
    for index in catalog.indices {
      let number = favorites.number(of: catalog[index].id)
      if catalog[index].isFavorite != (number != nil) { catalog[index].isFavorite = number != nil }
      // If several cities have the same id, the favorite gets the data of the first.
      guard let number, !isListed[number] else { continue }
      isListed[number] = true
      if favorites.fingerprints[number] == CityFingerprint(catalog[index]) { continue }
      differing.append(catalog[index])
    }
    let unlisted = favorites.ids.indices.filter { !isListed[$0] }.map { favorites.ids[$0] }
    return CityMergeReport(
      favoriteCount: favorites.ids.count, orphans: try repository.favorites(unlisted),
      refreshedCount: differing.isEmpty ? 0 : try repository.refreshFavorites(differing))
  }
}

/// The favorites of a repository, indexed by id for one look-up per city of a catalog.
private struct HeldFavorites {
  private(set) var ids: [City.ID] = []
  /// The fingerprint of each favorite; `nil` if its record is not a valid city.
  private(set) var fingerprints: [CityFingerprint?] = []
  private let table: CityIDTable

  init(of repository: some FavoriteCityRepository) throws(HeartlogError) {
    var ids: [City.ID] = []
    var fingerprints: [CityFingerprint?] = []
    try repository.forEachFavorite {
      ids.append($0)
      return true
    } _: { _, held in
      fingerprints.append(held.map { CityFingerprint($0) })
    }
    table = CityIDTable(count: ids.count, spread: 4) { ids[$0] }
    self.ids = ids
    self.fingerprints = fingerprints
  }

  /// The index of a favorite in `ids` and `fingerprints`.
  @inline(__always)
  func number(of id: City.ID) -> Int? {
    guard table.mayContain(id) else { return nil }
    var number: Int?
    table.forEachPosition(of: id, idAt: { ids[$0] }, { number = $0 })
    return number
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
