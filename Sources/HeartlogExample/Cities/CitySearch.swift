import Heartlog
import HeartlogLibraries
import Observation

/// The view model of Smart City's search: a catalog from a service, with hearts from the store.
@MainActor @Observable
final class CitySearch {
  var query = ""
  var showsFavoritesOnly = false
  /// The result of the last merge, which includes favorites that the catalog no longer contains.
  private(set) var report: CityMergeReport?

  @ObservationIgnored private let cities = InMemoryCityRepository()
  @ObservationIgnored private let merge: any MergePersistedFavoritesUseCase
  @ObservationIgnored private let toggle: any ToggleFavoriteCityUseCase
  @ObservationIgnored private let fetch: any FetchFavoriteCitiesUseCase
  @ObservationIgnored private let recent: RecentSearchTerms

  init(_ store: FavoritesStore, clock: @escaping @Sendable () -> Milliseconds) throws {
    let repository = try DefaultFavoriteCityRepository(store)
    merge = DefaultMergePersistedFavoritesUseCase(repository: repository, cities: cities)
    toggle = DefaultToggleFavCityUseCase(repository: repository, cities: cities)
    fetch = DefaultFetchFavoriteCitiesUseCase(repository: repository, cities: cities)
    recent = try RecentSearchTerms(store, clock: clock)
  }

  /// Shows a catalog that was received at the start or on a refresh. Hearts come from the store, names and
  /// coordinates of favorites from the catalog.
  func show(_ catalog: [City]) throws {
    cities.load(catalog)
    report = try merge.execute()
  }

  /// The rows of the list.
  var rows: CityList { cities.search(prefix: query, favoritesOnly: showsFavoritesOnly) }

  /// Called when the search field is left.
  func submit() throws { try recent.record(query) }

  var recentTerms: [String] { recent.terms }

  /// All favorites, newest first, including those that are not in the catalog.
  func favorites() throws -> [City] { try fetch.execute() }

  func city(_ id: City.ID) -> City? { cities.city(id) }

  /// Called on a tap on the heart of a row, or of the card in the detail screen.
  func tapHeart(of id: City.ID) throws {
    if let city = cities.city(id) { try toggle.execute(city) }
  }
}
