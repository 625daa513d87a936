import Heartlog

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
