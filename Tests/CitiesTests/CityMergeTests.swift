import Foundation
import HeartlogLibraries
import LibraryTestSupport
import Synchronization
import Testing

@testable import Heartlog

@Suite("cities: merging favorites into the catalog")
struct CityMergeTests {
  private let app: SmartCity
  init() throws { app = try SmartCity() }

  @Test("the flag is replaced, not or-ed: a catalog flag that is not persisted is cleared")
  func replaced() throws {
    var catalog = SmartCity.catalog
    for index in catalog.indices { catalog[index].isFavorite = true }
    app.cities.load(catalog)
    #expect(app.cities.fetchFavorites().count == 7)
    try app.repository.toggleFavorite(for: catalog[0])
    try app.merge.execute()
    #expect(app.cities.fetchFavorites().map(\.id) == [5])
    #expect(try app.merge.execute(catalog).cities.filter(\.isFavorite).map(\.id) == [5])
  }

  /// A repository that counts what a merge asks it for.
  private final class Counting: FavoriteCityRepository {
    let base: DefaultFavoriteCityRepository
    let counts = Mutex((passes: 0, whole: 0, lookups: 0))

    init(base: DefaultFavoriteCityRepository) { self.base = base }

    func toggleFavorite(for city: City) throws(HeartlogError) -> Bool { try base.toggleFavorite(for: city) }
    func fetchFavorites() -> [City] {
      counts.withLock { $0.whole += 1 }
      return base.fetchFavorites()
    }
    func isFavorite(_ id: City.ID) -> Bool {
      counts.withLock { $0.lookups += 1 }
      return base.isFavorite(id)
    }
    func favoriteIDs() -> [City.ID] {
      counts.withLock { $0.passes += 1 }
      return base.favoriteIDs()
    }
    func refreshFavorites(_ cities: [City]) throws(HeartlogError) -> Int {
      counts.withLock { $0.lookups += cities.count }
      return try base.refreshFavorites(cities)
    }
  }

  @Test("a catalog of 200,000 cities merges with 10,000 favorites in one pass: each is looked up once")
  func onePass() throws {
    let catalog = (0..<200_000).map { city($0, "C\($0 % 977)") }
    // Every 20th, and ten that the catalog does not contain.
    try app.repository.favorites.add(
      contentsOf: (0..<10_010).map { $0 < 10_000 ? catalog[$0 * 20] : city(1_000_000 + $0, "Gone") })
    let repository = Counting(base: app.repository)
    let cities = InMemoryCityRepository(catalog)
    let report = try DefaultMergePersistedFavoritesUseCase(repository: repository, cities: cities).execute()
    #expect(report.favoriteCount == 10_010 && report.orphans.count == 10 && report.refreshedCount == 0)
    // One more look-up reads what other processes wrote. The orphans are fetched with their data.
    #expect(repository.counts.withLock { $0 } == (1, 1, 10_001))
    #expect(cities.search(prefix: "", favoritesOnly: true).map(\.id).sorted() == (0..<10_000).map { $0 * 20 })

    let merged = try DefaultMergePersistedFavoritesUseCase(repository: repository, cities: cities).execute(
      catalog)
    #expect(repository.counts.withLock { $0 } == (2, 2, 20_001))
    #expect(merged.cities.count { $0.isFavorite } == 10_000 && merged.cities[20].isFavorite)
  }

  @Test("an empty persisted set clears all")
  func emptySet() throws {
    let catalog = SmartCity.catalog.map {
      City(id: $0.id, name: $0.name, country: $0.country, lon: 0, lat: 0, isFavorite: true)
    }
    app.cities.load(catalog)
    let report = try app.merge.execute()
    #expect(report.favoriteCount == 0 && app.cities.fetchFavorites().isEmpty)
    #expect(try app.merge.execute(catalog).cities.allSatisfy { !$0.isFavorite })
  }

  @Test("metadata comes from the catalog, and catalog order stays")
  func metadataAndOrder() throws {
    try app.repository.toggleFavorite(for: city(4, "Old name", "ZZ"))
    let (merged, _) = try app.merge.execute(SmartCity.catalog)
    #expect(merged.map(\.id) == SmartCity.catalog.map(\.id))
    #expect(merged.map(\.name) == SmartCity.catalog.map(\.name))
    #expect(merged.filter(\.isFavorite).map(\.id) == [4])
    let before = app.cities.cities.map(\.id)
    try app.merge.execute()
    #expect(app.cities.cities.map(\.id) == before)
    #expect(app.cities.city(4)?.name == "Arizona" && app.cities.city(4)?.country == "US")
  }

  @Test(
    "a favorite that the catalog no longer lists stays in the store, is reported as an orphan, and still lists"
  )
  func orphans() throws {
    for id in [5, 1] {
      try app.toggle.execute(try #require(app.cities.city(id)))
      app.clock.now += 1
    }
    app.cities.load(SmartCity.catalog.filter { $0.id != 5 && $0.id != 1 })
    let report = try app.merge.execute()
    try #require(report.orphans.map(\.name) == ["Albuquerque", "Sydney"] && report.favoriteCount == 2)
    #expect(report.orphans.allSatisfy { $0.isFavorite })
    #expect(app.fetchedIDs == [1, 5])
    #expect(try app.fetch.execute().map(\.name) == ["Albuquerque", "Sydney"])
    #expect(app.cities.fetchFavorites().map(\.id) == [1, 5])
    #expect(app.cities.city(5)?.name == "Sydney" && app.cities.isFavorite(5))
    #expect(try app.merge.execute(SmartCity.catalog.filter { $0.id == 1 }).report.orphans.map(\.id) == [5])
    // And it can be taken off, although no catalog knows it.
    try app.toggle.execute(report.orphans[1])
    #expect(app.fetchedIDs == [1] && !app.cities.isFavorite(5))
    app.cities.load(SmartCity.catalog)
    #expect(app.cities.fetchFavorites().map(\.id) == [1])
  }

  @Test("a catalog whose metadata changed updates what the favorite shows without touching favoritedDate")
  func changedMetadata() throws {
    try app.toggle.execute(try #require(app.cities.city(5)))
    try app.toggle.execute(try #require(app.cities.city(1)))
    let date = app.repository.favorites.favoritedDate(of: 5)
    app.clock.now += 60_000
    app.cities.load(SmartCity.catalog.map { $0.id == 5 ? city(5, "Sydney (NSW)", "AU") : $0 })
    let report = try app.merge.execute()
    #expect(report.refreshedCount == 1)
    #expect(try app.repository.favorites.item(5)?.name == "Sydney (NSW)")
    #expect(try app.fetch.execute().map(\.name) == ["Albuquerque", "Sydney (NSW)"].sorted(by: <))
    #expect(app.repository.favorites.favoritedDate(of: 5) == date)
    // One commit, and none where nothing differs any longer.
    let commits = app.store.read(\.commitCount)
    #expect(try app.merge.execute().refreshedCount == 0)
    #expect(try app.merge.execute(Array(app.cities.cities)).report.refreshedCount == 0)
    #expect(app.store.read(\.commitCount) == commits && commits == 3)
  }

  @Test("a search index built over the catalog sees the new flags")
  func searchSeesFlags() throws {
    #expect(app.cities.search(prefix: "al", favoritesOnly: true).isEmpty)
    for id in [7, 1] { try app.repository.toggleFavorite(for: try #require(app.cities.city(id))) }
    try app.merge.execute()
    #expect(app.cities.search(prefix: "al", favoritesOnly: true).map(\.id) == [7, 1])
    #expect(app.cities.search(prefix: "al").map(\.isFavorite) == [false, false, true, true])
    try app.toggle.execute(try #require(app.cities.city(7)))
    #expect(app.cities.search(prefix: "al", favoritesOnly: true).map(\.id) == [1])
  }

  @Test("toggling a city the store has never seen records it")
  func unseen() throws {
    #expect(try app.toggle.execute(city(4_711, "Atlantis", "GR")))
    #expect(try app.repository.favorites.item(4_711)?.name == "Atlantis")
    #expect(app.cities.isFavorite(4_711) && !app.cities.cities.contains { $0.id == 4_711 })
  }

  @Test("what another device toggled shows after a merge; a new catalog keeps the hearts that were merged")
  func otherDevice() throws {
    try app.toggle.execute(try #require(app.cities.city(1)))
    let stamp = app.store.read(\.lastStamp)
    func commit(_ number: UInt64, _ events: [Event]) -> Commit {
      Commit(
        replica: ReplicaID(high: 7, low: 7), number: CommitNumber(rawValue: number),
        firstSequence: SequenceNumber(rawValue: number),
        stamp: HybridTimestamp(rawValue: stamp.rawValue + number), wallTime: app.clock.now,
        records: events.map { .event($0) })
    }
    app.store.projection.receive(
      commit(1, [Event(library: "cities", item: "1", action: .toggled(on: false))]))
    app.store.projection.receive(
      commit(2, [Event(library: "cities", item: "5", action: .added, fields: [])]))
    let report = try app.merge.execute()
    #expect(report.favoriteCount == 1 && report.refreshedCount == 1)
    #expect(app.cities.fetchFavorites().map(\.id) == [5])
    #expect(try app.repository.favorites.item(5)?.name == "Sydney")
    app.cities.load(SmartCity.catalog.reversed())
    #expect(app.cities.fetchFavorites().map(\.id) == [5])
  }

  @Test("cities that share an id share the flag")
  func sharedID() throws {
    app.cities.load([city(1, "Roma", "IT"), city(1, "Rome", "US"), city(2, "Romeo")])
    try app.toggle.execute(city(1, "Roma", "IT"))
    #expect(app.cities.cities.map(\.isFavorite) == [true, true, false])
    try app.merge.execute()
    #expect(app.cities.search(prefix: "rom", favoritesOnly: true).map(\.name) == ["Roma", "Rome"])
  }

  @Test("taps and merges at once leave the screen as the store has it")
  func concurrent() async throws {
    let catalog = (0..<500).map { city($0, "City \($0)") }
    app.cities.load(catalog)
    let app = app
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for step in 0..<60 {
            try app.toggle.execute(catalog[(task * 31 + step * 7) % 500])
            if step % 10 == 0 { try app.merge.execute() }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(Set(app.cities.favoriteIDs()) == Set(app.repository.favoriteIDs()))
  }

  @Test("the whole real list merges with 10,000 favorites in one pass", .needsRealData)
  func realList() throws {
    let all = try RealCities.all.get()
    #expect(all.count == 209_579)
    let picked = stride(from: 3, to: 200_000, by: 20).map { all[$0] }.prefix(10_000)
    try app.store.write { for city in picked { try app.repository.toggleFavorite(for: city) } }
    try app.repository.toggleFavorite(for: city(-99, "Not listed"))
    app.cities.load(all)
    let report = try app.merge.execute()
    #expect(report.favoriteCount == picked.count + 1 && report.orphans.map(\.id) == [-99])
    #expect(report.refreshedCount == 0)
    #expect(Set(app.cities.cities.lazy.filter(\.isFavorite).map(\.id)) == Set(picked.map(\.id)))
    let own = try app.merge.execute(all)
    #expect(own.cities.map(\.id) == all.map(\.id) && own.report == report)
  }
}
