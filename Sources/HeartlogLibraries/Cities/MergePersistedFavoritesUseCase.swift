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
  /// - Returns: the array with the flags of the repository, and what the merge found.
  /// - Throws: as `execute()`.
  public func execute(
    _ catalog: [City]
  ) throws(HeartlogError) -> (cities: [City], report: CityMergeReport) {
    let ids = Set(try repository.favoriteIDs())
    var merged = catalog
    var listed: [City] = []
    for index in merged.indices {
      let isFavorite = ids.contains(merged[index].id)
      merged[index].isFavorite = isFavorite
      if isFavorite { listed.append(merged[index]) }
    }
    let report = CityMergeReport(
      favoriteCount: ids.count,
      orphans: try repository.favorites(Array(ids.subtracting(listed.map(\.id)))),
      refreshedCount: try repository.refreshFavorites(listed))
    return (merged, report)
  }
}
