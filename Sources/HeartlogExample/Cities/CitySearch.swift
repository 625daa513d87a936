import Heartlog
import HeartlogLibraries
import Observation

/// The view model of Smart City's search: a catalog that a service sends, with the hearts that the store remembers.
@MainActor @Observable
final class CitySearch {
  var query = ""
  var showsFavoritesOnly = false
  /// What the last merge found: favorites that the catalog no longer lists among it.
  private(set) var report: CityMergeReport?

  @ObservationIgnored private let cities = InMemoryCityRepository()
  @ObservationIgnored private let merge: MergePersistedFavoritesUseCase
  @ObservationIgnored private let toggle: ToggleFavoriteCityUseCase
  @ObservationIgnored private let fetch: FetchFavoriteCitiesUseCase
  @ObservationIgnored private let recent: RecentSearchTerms

  init(_ store: FavoritesStore, clock: @escaping @Sendable () -> Milliseconds) throws {
    let repository = try DefaultFavoriteCityRepository(store)
    merge = MergePersistedFavoritesUseCase(repository: repository, cities: cities)
    toggle = ToggleFavoriteCityUseCase(repository: repository, cities: cities)
    fetch = FetchFavoriteCitiesUseCase(repository: repository, cities: cities)
    recent = try RecentSearchTerms(store, clock: clock)
  }

  /// A catalog has come, at the start or at a refresh. Its hearts are the store's; names and places of favorites are the catalog's.
  func show(_ catalog: [City]) throws {
    cities.load(catalog)
    report = try merge.execute()
  }

  /// What the list shows.
  var rows: CityList { cities.search(prefix: query, favoritesOnly: showsFavoritesOnly) }

  /// The search field is left.
  func submit() throws { try recent.record(query) }

  var recentTerms: [String] { recent.terms }

  /// All favorites, newest first: those too that the catalog does not list.
  func favorites() throws -> [City] { try fetch.execute() }

  func city(_ id: City.ID) -> City? { cities.city(id) }

  /// The heart of a row, or of the card in the detail screen.
  func tapHeart(of id: City.ID) throws {
    if let city = cities.city(id) { try toggle.execute(city) }
  }
}
