import Heartlog
import Synchronization

/// All cities in memory with their favorite flags, for the searches and lists of an app.
///
/// `MergePersistedFavoritesUseCase` sets the flags from a store, and `ToggleFavoriteCityUseCase` keeps them
/// up to date. On its own, it is also a `FavoriteCityRepository` without persistence, for tests and previews.
public final class InMemoryCityRepository: CityRepository, FavoriteCityRepository {
  private struct State {
    var catalog: CityCatalog
    /// By position in the catalog.
    var flags: [Bool]
    /// Favorites that are not in the catalog, in no particular order.
    var unlisted: [City.ID: City] = [:]
    /// Whether flags were merged or toggled: a catalog that is loaded later does not replace them.
    var isMerged = false

    var all: CityList { CityList(catalog: catalog, flags: flags, positions: catalog.all) }

    /// The favorites in the catalog, in its order.
    var favorites: CityList {
      CityList(
        catalog: catalog, flags: flags, positions: flags.indices.filter { flags[$0] }.map { Int32($0) })
    }
  }

  private let state: Mutex<State>
  private let hub = ChangeHub()

  /// Notices of changed flags and of another catalog.
  public var changes: AsyncStream<Void> { Changes(hub, library: nil).notices }

  /// Creates a repository of these cities, which may be in any order. A flag that is set in one applies until
  /// the first merge.
  public init(_ cities: [City] = []) {
    let catalog = CityCatalog(cities)
    state = Mutex(
      State(catalog: catalog, flags: catalog.flags(cities.lazy.filter(\.isFavorite).map(\.id)).flags))
  }

  deinit { hub.finish() }

  /// Replaces the catalog. Flags that were merged or toggled are kept, whatever the catalog says; a favorite
  /// that it does not contain stays a favorite.
  ///
  /// O(n log n): about 0.2 s for the 209,579 cities of the real list. Other calls are blocked for only a
  /// small part of that time.
  public func load(_ cities: [City]) {
    let catalog = CityCatalog(cities)
    let given = catalog.flags(cities.lazy.filter(\.isFavorite).map(\.id)).flags
    state.withLock { state in
      var favorites = state.unlisted
      if state.isMerged { for city in state.favorites { favorites[city.id] = city } }
      let (flags, unlisted) = catalog.flags(favorites.keys)
      state.flags = state.isMerged ? flags : given
      state.unlisted = favorites.filter { unlisted.contains($0.key) }
      state.catalog = catalog
    }
    hub.tellRestart()
  }

  // MARK: - Reading

  /// All cities of the catalog, by name, country and id. O(1).
  public var cities: CityList { state.withLock(\.all) }

  /// The city with this id and its flag; `nil` if neither the catalog nor the favorites contain it. O(1).
  public func city(_ id: City.ID) -> City? {
    state.withLock { state in
      state.catalog.first[id].map { state.all[$0] } ?? state.unlisted[id]
    }
  }

  /// The cities of the catalog whose names begin with `prefix`, in the order of the catalog.
  ///
  /// The search ignores case but not diacritics. White space at the ends of `prefix` is ignored, and an empty
  /// prefix matches all cities. O(log n + number of results), without a scan of the catalog.
  public func search(prefix: String, favoritesOnly: Bool = false) -> CityList {
    let prefix = prefix.withoutOuterWhiteSpace
    guard !prefix.isEmpty else { return state.withLock { favoritesOnly ? $0.favorites : $0.all } }
    let (catalog, flags) = state.withLock { ($0.catalog, $0.flags) }
    let found = catalog.names.positions(of: prefix)
    return CityList(
      catalog: catalog, flags: flags,
      positions: favoritesOnly ? found.filter { flags[Int($0)] } : found)
  }

  // MARK: - Favorites

  /// Toggles the flag in memory only. An app with a store uses `ToggleFavoriteCityUseCase` instead.
  @discardableResult
  public func toggleFavorite(for city: City) -> Bool {
    defer { hub.tellRestart() }
    return state.withLock { state in
      let isFavorite =
        state.catalog.first[city.id].map { state.flags[$0] } ?? (state.unlisted[city.id] != nil)
      Self.set(city, isFavorite: !isFavorite, in: &state)
      return !isFavorite
    }
  }

  /// The favorites in the catalog, in its order, then the others by id.
  public func fetchFavorites() -> [City] {
    let (listed, unlisted) = state.withLock { ($0.favorites, $0.unlisted.values) }
    return Array(listed) + unlisted.sorted { $0.id < $1.id }
  }

  public func isFavorite(_ id: City.ID) -> Bool { city(id)?.isFavorite ?? false }

  public func favoriteIDs() -> [City.ID] {
    state.withLock { $0.favorites.map(\.id) + $0.unlisted.keys }
  }

  // MARK: - For the use cases

  /// Replaces all flags by those of another repository, which is read under the lock, so that a concurrent tap is
  /// not undone. One look-up per favorite, whatever the size of the catalog.
  ///
  /// - Returns: The favorites in the catalog, the first with each id, and the ids of those that are not.
  func takeFlags(
    from repository: some FavoriteCityRepository
  ) throws(HeartlogError) -> (listed: [City], unlisted: Set<City.ID>) {
    // What other processes wrote is read before the lock is taken, which searches wait for.
    _ = try repository.isFavorite(0)
    return try withState { (state) throws(HeartlogError) in
      let ids = try repository.favoriteIDs()
      let (flags, unlisted) = state.catalog.flags(ids)
      (state.flags, state.unlisted, state.isMerged) = (flags, [:], true)
      let catalog = state.catalog
      return (ids.compactMap { catalog.first[$0] }.map { catalog.cities[$0] }, unlisted)
    }
  }

  /// Sets the flag of a city from another repository. The repository is read under the lock, so that of two
  /// concurrent taps the later one shows.
  func takeFlag(of city: City, from repository: some FavoriteCityRepository) throws(HeartlogError) {
    try withState { (state) throws(HeartlogError) in
      Self.set(city, isFavorite: try repository.isFavorite(city.id), in: &state)
    }
  }

  /// Records favorites that are not in the catalog.
  func note(unlisted: [City]) {
    state.withLock { state in
      for city in unlisted where state.catalog.first[city.id] == nil { state.unlisted[city.id] = city }
    }
  }

  private func withState<R: Sendable>(
    _ body: (inout State) throws(HeartlogError) -> R
  ) throws(HeartlogError) -> R {
    defer { hub.tellRestart() }
    return try state.withLock { state in
      Result { () throws(HeartlogError) in try body(&state) }
    }.get()
  }

  private static func set(_ city: City, isFavorite: Bool, in state: inout State) {
    state.isMerged = true
    let catalog = state.catalog
    let isListed = catalog.forEachPosition(of: city.id) { state.flags[$0] = isFavorite }
    guard !isListed else { return }
    var unlisted = city
    unlisted.isFavorite = true
    state.unlisted[city.id] = isFavorite ? unlisted : nil
  }
}
