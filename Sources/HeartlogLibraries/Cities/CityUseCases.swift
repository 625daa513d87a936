import Heartlog

/// What a merge found.
public struct CityMergeReport: Sendable, Hashable {
  /// Favorites in all, the orphans among them.
  public let favoriteCount: Int
  /// Favorites that the catalog does not list, in the repository's order, which is newest first for a store. They stay favorites.
  public let orphans: [City]
  /// Of how many favorites the catalog said something new, which the repository has taken.
  public let refreshedCount: Int
}

/// Brings the hearts that are kept into the catalog that is shown.
///
/// A flag is replaced, not or-ed: what is not kept as a favorite is none, whatever the catalog said. What a city is called and where it
/// lies comes from the catalog, for its favorite too, whose date stays. The order of the catalog stays.
public struct MergePersistedFavoritesUseCase: Sendable {
  let repository: any FavoriteCityRepository
  let cities: InMemoryCityRepository

  /// - Parameters:
  ///   - repository: where the favorites are kept.
  ///   - cities: the catalog that the screens show.
  public init(
    repository: any FavoriteCityRepository, cities: InMemoryCityRepository = InMemoryCityRepository()
  ) {
    self.repository = repository
    self.cities = cities
  }

  /// Merges into the cities in memory: one look-up a favorite, none for the rest of the catalog. Searches and lists that are asked for
  /// from now on see the new flags.
  ///
  /// - Throws: what the repository throws where it cannot be read, or cannot take what the catalog says of its favorites.
  @discardableResult
  public func execute() throws(HeartlogError) -> CityMergeReport {
    let (count, unlisted, toRefresh) = try cities.takeFlags(from: repository)
    let orphans = try repository.favorites(unlisted)
    cities.note(unlisted: orphans, refreshed: [])
    let refreshedCount = toRefresh.isEmpty ? 0 : try repository.refreshFavorites(toRefresh)
    cities.note(unlisted: [], refreshed: toRefresh)
    return CityMergeReport(favoriteCount: count, orphans: orphans, refreshedCount: refreshedCount)
  }

  /// Merges into an app's own array, in its own order: one pass with one look-up a city.
  ///
  /// An array that nobody else holds is not copied where it is given away: `execute(consume all)`, or `execute(in: &all)`.
  ///
  /// - Returns: the array with the flags of the repository, and what the merge found.
  /// - Throws: as `execute()`.
  public func execute(
    _ catalog: consuming [City]
  ) throws(HeartlogError) -> (cities: [City], report: CityMergeReport) {
    let report = try execute(in: &catalog)
    return (catalog, report)
  }

  /// Merges into an app's own array where it lies: one pass with one look-up a city. Only cities whose flags change are written to, so that
  /// an array that has them all, or that nobody else holds, is not copied.
  ///
  /// - Returns: what the merge found.
  /// - Throws: as `execute()`; the flags are set even where the repository cannot take what the catalog says of its favorites.
  @discardableResult
  public func execute(in catalog: inout [City]) throws(HeartlogError) -> CityMergeReport {
    let favorites = try HeldFavorites(of: repository)
    var isListed = [Bool](repeating: false, count: favorites.ids.count)
    var differing: [City] = []
    for index in catalog.indices {
      let number = favorites.number(of: catalog[index].id)
      if catalog[index].isFavorite != (number != nil) { catalog[index].isFavorite = number != nil }
      // Of cities that share an id, the first says what the favorite is called.
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

/// The favorites of a repository, to be asked for by id as often as there are cities in the world.
private struct HeldFavorites {
  private(set) var ids: [City.ID] = []
  /// What is held of each; nil where that makes no city.
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

  /// Where in `ids` and `fingerprints` a favorite is.
  @inline(__always)
  func number(of id: City.ID) -> Int? {
    guard table.mayContain(id) else { return nil }
    var number: Int?
    table.forEachPosition(of: id, idAt: { ids[$0] }, { number = $0 })
    return number
  }
}

/// A tap on a city's heart.
public struct ToggleFavoriteCityUseCase: Sendable {
  let repository: any FavoriteCityRepository
  let cities: InMemoryCityRepository?

  /// - Parameters:
  ///   - repository: where the favorites are kept.
  ///   - cities: the catalog that the screens show; it gets the heart once the repository has it.
  public init(repository: any FavoriteCityRepository, cities: InMemoryCityRepository? = nil) {
    self.repository = repository
    self.cities = cities
  }

  /// Flips what the repository holds, whatever `city.isFavorite` says. A city that was never seen is recorded.
  ///
  /// - Returns: whether it is a favorite now.
  /// - Throws: what the repository throws; then nothing has changed, on the screen neither.
  @discardableResult
  public func execute(_ city: City) throws(HeartlogError) -> Bool {
    let isFavorite = try repository.toggleFavorite(for: city)
    if let cities, cities !== (repository as AnyObject) { try cities.takeFlag(of: city, from: repository) }
    return isFavorite
  }
}

/// All cities that are favorites.
public struct FetchFavoriteCitiesUseCase: Sendable {
  let repository: any FavoriteCityRepository
  let cities: InMemoryCityRepository?

  /// - Parameters:
  ///   - repository: where the favorites are kept.
  ///   - cities: the catalog; what it says of a favorite is what is shown of it.
  public init(repository: any FavoriteCityRepository, cities: InMemoryCityRepository? = nil) {
    self.repository = repository
    self.cities = cities
  }

  /// The favorites in the repository's order, which is newest first for a store: those too that the catalog does not list.
  ///
  /// - Throws: what the repository throws; one that stands on a store never does.
  public func execute() throws(HeartlogError) -> [City] {
    try repository.fetchFavorites().map { favorite in
      var city = cities?.city(favorite.id) ?? favorite
      city.isFavorite = true
      return city
    }
  }
}
