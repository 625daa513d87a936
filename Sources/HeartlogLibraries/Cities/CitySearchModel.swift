import Heartlog
import Observation

/// A search in a catalog of cities for a view, with hearts that follow the favorites: also those tapped elsewhere.
///
/// A tap shows at once. Its write runs in the background; if it fails, the tap is taken back, and `lastError` says
/// why.
@MainActor @Observable
public final class CitySearchModel {
  /// The beginning of the names, ignoring case; empty for all cities.
  public var query = "" { didSet { if query != oldValue { search() } } }
  /// Whether only favorites are found.
  public var favoritesOnly = false { didSet { if favoritesOnly != oldValue { search() } } }
  /// The cities that are found, in the order of the catalog, with their flags.
  public private(set) var results: CityList
  /// The favorites that the catalog does not contain, as of the last merge.
  public private(set) var orphans: [City] = []
  /// The error of the last tap, or of a merge since then; `nil` if there was none.
  public private(set) var lastError: HeartlogError?

  /// The catalog. After `load`, call `merge()`.
  @ObservationIgnored public let cities: InMemoryCityRepository
  @ObservationIgnored private let repository: any FavoriteCityRepository
  @ObservationIgnored private var following: Task<Void, Never>?
  /// The taps that are being written, as they are shown, with the number of writes that have not ended.
  @ObservationIgnored private var taps: [City.ID: (city: City, isFavorite: Bool, writes: Int)] = [:]
  /// The write of the last tap, after those of the taps before it.
  @ObservationIgnored private var writing: Task<HeartlogError?, Never>?

  /// Creates a model that follows the favorites until it is deallocated.
  ///
  /// - Parameters:
  ///   - repository: the repository of the favorites.
  ///   - cities: the catalog.
  public init(repository: any FavoriteCityRepository, cities: InMemoryCityRepository) {
    self.repository = repository
    self.cities = cities
    results = cities.search(prefix: "")
    following = Task { [weak self] in
      for await _ in repository.changes {
        guard let self else { return }
        await self.merge()
      }
    }
  }

  deinit { following?.cancel() }

  /// Merges the favorites into the catalog, as `MergePersistedFavoritesUseCase` does.
  public func merge() async {
    let result = await Self.merge(repository, into: cities)
    for tap in taps.values where cities.isFavorite(tap.city.id) != tap.isFavorite {
      cities.toggleFavorite(for: tap.city)
    }
    switch result {
    case .success(let report): orphans = report.orphans
    case .failure(let error): lastError = error
    }
    search()
  }

  /// Toggles a city as a favorite: what is shown decides.
  ///
  /// Returns when the tap is written, or has failed.
  public func toggle(_ city: City) async {
    // What is shown, and not the catalog: a merge may just be changing that.
    let shown = taps[city.id]?.isFavorite ?? results.first { $0.id == city.id }?.isFavorite
    let isFavorite = !(shown ?? cities.isFavorite(city.id))
    if cities.isFavorite(city.id) != isFavorite { cities.toggleFavorite(for: city) }
    taps[city.id] = (city, isFavorite, (taps[city.id]?.writes ?? 0) + 1)
    search()
    let earlier = writing
    let write = Task { [repository] in
      _ = await earlier?.value
      return await Self.set(city, isFavorite, in: repository)
    }
    writing = write
    lastError = await write.value
    taps[city.id]?.writes -= 1
    guard taps[city.id]?.writes == 0 else { return }
    taps[city.id] = nil
    // It may have failed, or been overtaken by a tap elsewhere.
    await merge()
  }

  private func search() { results = cities.search(prefix: query, favoritesOnly: favoritesOnly) }

  @concurrent
  private nonisolated static func merge(
    _ repository: any FavoriteCityRepository, into cities: InMemoryCityRepository
  ) async -> Result<CityMergeReport, HeartlogError> {
    Result { () throws(HeartlogError) in
      try DefaultMergePersistedFavoritesUseCase(repository: repository, cities: cities).execute()
    }
  }

  @concurrent
  private nonisolated static func set(
    _ city: City, _ isFavorite: Bool, in repository: any FavoriteCityRepository
  ) async -> HeartlogError? {
    do throws(HeartlogError) {
      try repository.setFavorite(isFavorite, for: city)
      return nil
    } catch { return error }
  }
}
