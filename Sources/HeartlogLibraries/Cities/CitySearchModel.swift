import Heartlog
import Observation

/// A search in a catalog of cities for a view, with hearts that follow the favorites: also those tapped elsewhere.
///
/// A tap shows at once. It is written in the background, with the time of the tap; if that fails, the tap is taken
/// back, and `failedTaps` has the city and the error.
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
  /// The taps that could not be written, one for each city, the latest last. Each stays until it is dismissed, or
  /// until a later tap on the same city is written.
  public private(set) var failedTaps: [WriteFailure<City.ID>] = []
  /// The error of the last of `failedTaps`; else that of the last merge; `nil` if there is none. Setting it to `nil`,
  /// as an alert's binding does, dismisses all; it cannot be set to an error.
  public var lastError: HeartlogError? {
    get { failedTaps.last?.error ?? mergeError }
    set {
      guard newValue == nil, lastError != nil else { return }
      (failedTaps, mergeError) = ([], nil)
    }
  }
  private var mergeError: HeartlogError?

  /// The catalog. After `load`, call `merge()`.
  @ObservationIgnored public let cities: InMemoryCityRepository
  @ObservationIgnored private let repository: any FavoriteCityRepository
  @ObservationIgnored private var following: Task<Void, Never>?
  @ObservationIgnored private let taps = PendingTaps<City.ID>()

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
    for id in taps.items {
      if let isFavorite = taps[id], let city = cities.city(id) { show(isFavorite, city) }
    }
    switch result {
    case .success(let report):
      orphans = report.orphans
      if mergeError != nil { mergeError = nil }
    case .failure(let error): mergeError = error
    }
    search()
  }

  /// Dismisses the failed tap on the city with this id.
  public func dismissFailure(of id: City.ID) { failedTaps.add(nil, of: id) }

  /// Toggles a city as a favorite: what is shown decides.
  ///
  /// Returns when the tap is written, or has failed.
  public func toggle(_ city: City) async {
    // What is shown, and not the catalog: a merge may just be changing that.
    let shown = taps[city.id] ?? results.first { $0.id == city.id }?.isFavorite
    let isFavorite = !(shown ?? cities.isFavorite(city.id))
    show(isFavorite, city)
    let store = (repository as? DefaultFavoriteCityRepository)?.favorites.library.store
    let time = store?.options.clock() ?? StoreOptions.systemTime()
    let write = taps.begin(city.id, isFavorite) { [repository] () throws(HeartlogError) in
      try await Self.set(city, isFavorite, at: time, in: repository)
    }
    search()
    failedTaps.add(await write.value, of: city.id)
    guard taps.end(city.id) else { return }
    // It may have failed, or been overtaken by a tap elsewhere.
    await merge()
  }

  private func show(_ isFavorite: Bool, _ city: City) {
    if cities.isFavorite(city.id) != isFavorite { cities.toggleFavorite(for: city) }
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
    _ city: City, _ isFavorite: Bool, at time: Milliseconds, in repository: any FavoriteCityRepository
  ) async throws(HeartlogError) {
    try FavoritesStore.$timeOfTap.withValue(time) {
      Result { () throws(HeartlogError) in try repository.setFavorite(isFavorite, for: city) }
    }.get()
  }
}
