import Heartlog
import HeartlogLibraries
import Testing

@Suite("cities: the flows of the app's document")
struct CityFlowTests {
  private let app: SmartCity
  init() throws { app = try SmartCity() }

  @Test("toggling the star persists changes immediately, and the row shows a filled heart")
  func toggle() throws {
    let sydney = try #require(app.cities.city(5))
    #expect(try app.toggle.execute(sydney))
    #expect(app.cities.city(5)?.isFavorite == true)
    #expect(app.cities.cities.filter(\.isFavorite).map(\.id) == [5])
    #expect(try app.store.favorites(of: City.self).contains(5))
    #expect(try !app.toggle.execute(sydney))
    #expect(app.cities.city(5)?.isFavorite == false && app.fetchedIDs == [])
  }

  @Test("the use cases stand behind protocols, so that an app may put its own in their place")
  func protocols() throws {
    let toggle: any ToggleFavoriteCityUseCase = app.toggle
    let fetch: any FetchFavoriteCitiesUseCase = app.fetch
    let merge: any MergePersistedFavoritesUseCase = app.merge
    #expect(try toggle.execute(city(5, "Sydney", "AU")) && fetch.execute().map(\.id) == [5])
    #expect(try merge.execute().favoriteCount == 1)
  }

  @Test("fetch returns all cities where isFavorite is true")
  func fetch() throws {
    for id in [1, 5, 4] {
      try app.toggle.execute(try #require(app.cities.city(id)))
      app.clock.now += 1_000
    }
    let favorites = try app.fetch.execute()
    #expect(favorites.map(\.name) == ["Arizona", "Sydney", "Albuquerque"])
    #expect(favorites.allSatisfy { $0.isFavorite })
  }

  @Test("at the start, what is persisted is merged into memory")
  func merge() throws {
    try app.toggle.execute(try #require(app.cities.city(4)))
    // The app starts anew: the catalog is loaded, the store remembers.
    let cities = InMemoryCityRepository(SmartCity.catalog)
    #expect(cities.fetchFavorites().isEmpty)
    let report = try DefaultMergePersistedFavoritesUseCase(repository: app.repository, cities: cities)
      .execute()
    #expect(report.favoriteCount == 1 && report.orphans.isEmpty && report.refreshedCount == 0)
    #expect(cities.fetchFavorites().map(\.name) == ["Arizona"])
  }

  @Test("the search view shows matches, and favorites alone when it is asked to")
  func search() throws {
    try app.toggle.execute(try #require(app.cities.city(3)))
    #expect(app.cities.search(prefix: "A").map(\.name).first == "Alabama")
    #expect(app.cities.search(prefix: "an").map(\.id) == [3])
    #expect(app.cities.search(prefix: "al", favoritesOnly: true).isEmpty)
    #expect(app.cities.search(prefix: "", favoritesOnly: true).map(\.id) == [3])
  }

  @Test("InMemoryCityRepository simulates favorite toggling, with fixtures that are favorites already")
  func testingStrategy() throws {
    let memory = InMemoryCityRepository([city(1, "Quito", isFavorite: true), city(2, "Lima")])
    let toggle = DefaultToggleFavCityUseCase(repository: memory, cities: memory)
    #expect(memory.fetchFavorites().map(\.id) == [1])
    #expect(try toggle.execute(city(2, "Lima")))
    #expect(try !toggle.execute(city(1, "Quito")))
    #expect(try DefaultFetchFavoriteCitiesUseCase(repository: memory).execute().map(\.id) == [2])
    #expect(try toggle.execute(city(3, "Cusco")) && memory.isFavorite(3))
    #expect(memory.favoriteIDs() == [2, 3] && memory.fetchFavorites().map(\.name) == ["Lima", "Cusco"])
  }

  @Test("a repository of one's own needs two calls")
  func ownRepository() throws {
    struct OwnRepository: FavoriteCityRepository {
      let memory = InMemoryCityRepository()
      func toggleFavorite(for city: City) -> Bool { memory.toggleFavorite(for: city) }
      func fetchFavorites() -> [City] { memory.fetchFavorites() }
    }
    let own = OwnRepository()
    let toggle = DefaultToggleFavCityUseCase(repository: own, cities: app.cities)
    #expect(try toggle.execute(city(5, "Sydney")) && app.cities.isFavorite(5))
    #expect(try toggle.execute(city(99, "Nowhere")))
    let report = try DefaultMergePersistedFavoritesUseCase(repository: own, cities: app.cities).execute()
    #expect(report.favoriteCount == 2 && report.orphans.map(\.id) == [99])
  }
}

extension SmartCity {
  var fetchedIDs: [Int] { repository.fetchFavorites().map(\.id) }
}
