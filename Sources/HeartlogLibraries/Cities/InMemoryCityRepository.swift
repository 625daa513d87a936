import Heartlog
import Synchronization

/// All cities in memory with their favorite flags, for the searches and lists of an app.
///
/// `MergePersistedFavoritesUseCase` sets the flags from a store, and `ToggleFavoriteCityUseCase` keeps them
/// up to date. On its own, it is also a `FavoriteCityRepository` without persistence, for tests and previews.
public final class InMemoryCityRepository: CityRepository, FavoriteCityRepository {
  private struct State {
    var catalog: CityCatalog
    var flags: CityFlags
    /// The favorites in the catalog for which the repository has the catalog's data.
    var refreshed: CityFlags
    /// Favorites that are not in the catalog, in no particular order.
    var unlisted: [City.ID: City] = [:]
    /// Whether flags were merged or toggled: a catalog that is loaded later does not replace them.
    var isMerged = false
    /// Whether a merge has compared the stored favorites with this catalog.
    var isCompared = false
  }

  private let state: Mutex<State>
  private let readers = CityChangeReaders()

  /// Notices of changed flags and of another catalog.
  public var changes: FavoriteCityChanges { readers.stream() }

  /// Creates a repository of these cities, which may be in any order. A flag that is set in one applies until
  /// the first merge.
  public init(_ cities: [City] = []) {
    let catalog = CityCatalog(cities)
    let flags = catalog.flags(cities.lazy.filter(\.isFavorite).map(\.id)).flags
    state = Mutex(
      State(catalog: catalog, flags: flags, refreshed: CityFlags(count: catalog.cities.count)))
  }

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
      if state.isMerged {
        for position in state.flags.positions {
          let city = state.catalog.cities[Int(position)]
          favorites[city.id] = city
        }
      }
      let (flags, unlisted) = catalog.flags(favorites.keys)
      state.flags = state.isMerged ? flags : given
      state.unlisted = favorites.filter { unlisted.contains($0.key) }
      state.refreshed = CityFlags(count: catalog.cities.count)
      state.isCompared = false
      state.catalog = catalog
    }
    readers.tell()
  }

  // MARK: - Reading

  /// All cities of the catalog, by name, country and id. O(1).
  public var cities: CityList {
    state.withLock { CityList(catalog: $0.catalog, flags: $0.flags, positions: $0.catalog.all[...]) }
  }

  /// The city with this id and its flag; `nil` if neither the catalog nor the favorites contain it. O(1).
  public func city(_ id: City.ID) -> City? {
    state.withLock { state in
      guard let position = state.catalog.position(of: id) else { return state.unlisted[id] }
      var city = state.catalog.cities[position]
      city.isFavorite = state.flags[position]
      return city
    }
  }

  /// The cities of the catalog whose names begin with `prefix`, in the order of the catalog.
  ///
  /// The search ignores case but not diacritics. White space at the ends of `prefix` is ignored, and an empty
  /// prefix matches all cities. O(log n + number of results), without a scan of the catalog.
  public func search(prefix: String, favoritesOnly: Bool = false) -> CityList {
    let (catalog, flags) = state.withLock { ($0.catalog, $0.flags) }
    let query = FoldedName(prefix.withoutOuterWhiteSpace)
    guard !query.text.isEmpty else {
      return CityList(
        catalog: catalog, flags: flags, positions: (favoritesOnly ? flags.positions : catalog.all)[...])
    }
    var found = CityFlags(count: catalog.cities.count)
    catalog.names.find(query, in: &found)
    if favoritesOnly { found.formIntersection(flags) }
    return CityList(catalog: catalog, flags: flags, positions: found.positions[...])
  }

  // MARK: - Favorites

  /// Toggles the flag in memory only. An app with a store uses `ToggleFavoriteCityUseCase` instead.
  @discardableResult
  public func toggleFavorite(for city: City) -> Bool {
    defer { readers.tell() }
    return state.withLock { state in
      let isFavorite =
        state.catalog.position(of: city.id).map { state.flags[$0] } ?? (state.unlisted[city.id] != nil)
      Self.set(city, isFavorite: !isFavorite, in: &state)
      return !isFavorite
    }
  }

  /// The favorites in the catalog, in its order, then the others by id.
  public func fetchFavorites() -> [City] {
    let (list, unlisted) = state.withLock { state in
      (
        CityList(catalog: state.catalog, flags: state.flags, positions: state.flags.positions[...]),
        state.unlisted.values.sorted { $0.id < $1.id }
      )
    }
    return Array(list) + unlisted
  }

  public func isFavorite(_ id: City.ID) -> Bool { city(id)?.isFavorite ?? false }

  public func favoriteIDs() -> [City.ID] {
    state.withLock { state in
      state.flags.positions.map { state.catalog.cities[Int($0)].id } + state.unlisted.keys
    }
  }

  // MARK: - For the use cases

  /// Replaces all flags by those of another repository. O(number of favorites), whatever the size of the
  /// catalog. The repository is read under the lock, so that a concurrent tap is not undone.
  ///
  /// The first time after a catalog was loaded, the stored data of each favorite is compared with the first
  /// city with its id.
  ///
  /// - Returns: The number of favorites, those that are not in the catalog, and the cities of the catalog
  ///   that differ from the stored data, or that became favorites after the comparison.
  func takeFlags(
    from repository: some FavoriteCityRepository
  ) throws(HeartlogError) -> (count: Int, unlisted: [City.ID], toRefresh: [City]) {
    // What other processes wrote is read before the lock is taken, which searches wait for.
    _ = try repository.isFavorite(0)
    return try withState { (state) throws(HeartlogError) in
      let isFirst = !state.isCompared
      var ids: [City.ID] = []
      var fingerprints: [CityFingerprint?] = []
      try repository.forEachFavorite {
        ids.append($0)
        return isFirst
      } _: { _, held in
        fingerprints.append(held.map { CityFingerprint($0) })
      }
      // All look-ups in one short loop, so that the processor can overlap their cache misses.
      var flags = CityFlags(count: state.catalog.cities.count)
      let positions = ids.map { state.catalog.flag($0, in: &flags) }
      var unlisted: [City.ID] = []
      var toRefresh: [City] = []
      for (number, position) in positions.enumerated() {
        guard let position else {
          unlisted.append(ids[number])
          continue
        }
        guard !state.refreshed[position] else { continue }
        if isFirst, fingerprints[number] == state.catalog.fingerprints[position] {
          state.refreshed[position] = true
        } else {
          toRefresh.append(state.catalog.cities[position])
        }
      }
      state.flags = flags
      state.unlisted = [:]
      state.isMerged = true
      state.isCompared = true
      return (ids.count, unlisted, toRefresh)
    }
  }

  /// Sets the flag of a city from another repository. The repository is read under the lock, so that of two
  /// concurrent taps the later one shows.
  func takeFlag(of city: City, from repository: some FavoriteCityRepository) throws(HeartlogError) {
    try withState { (state) throws(HeartlogError) in
      Self.set(city, isFavorite: try repository.isFavorite(city.id), in: &state)
    }
  }

  /// Records favorites that are not in the catalog, and those that were refreshed.
  func note(unlisted: [City], refreshed: [City]) {
    state.withLock { state in
      for city in unlisted where state.catalog.position(of: city.id) == nil { state.unlisted[city.id] = city }
      for city in refreshed {
        if let first = state.catalog.position(of: city.id) { state.refreshed[first] = true }
      }
    }
  }

  private func withState<R>(
    _ body: (inout State) throws(HeartlogError) -> R
  ) throws(HeartlogError) -> R where R: Sendable {
    defer { readers.tell() }
    return try state.withLock { state in
      do throws(HeartlogError) { return Result<R, HeartlogError>.success(try body(&state)) } catch {
        return .failure(error)
      }
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
