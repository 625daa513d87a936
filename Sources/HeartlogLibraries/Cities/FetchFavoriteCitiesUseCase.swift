import Heartlog

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
