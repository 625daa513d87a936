import Foundation
import HeartlogLibraries
import LibraryTestSupport
import Testing

@testable import Heartlog

@MainActor
@Suite("cities: the repository tells of changes, and takes over", .timeLimit(.minutes(1)))
struct FavoriteCityRepositoryTests {
  private let app: SmartCity

  init() throws { app = try SmartCity() }

  @Test("a list redraws when a heart is tapped elsewhere")
  func elsewhere() async throws {
    var step = 0
    // What a view does for each notice.
    for await _ in app.repository.changes {
      let orphans = try app.merge.execute().orphans.map(\.id)
      let list = app.cities.search(prefix: "al", favoritesOnly: true).map(\.id)
      switch step {
      case 0 where list == []:
        try app.repository.toggleFavorite(for: city(2, "Alabama", "US"))
        try app.repository.toggleFavorite(for: city(99, "Gone"))
        step = 1
      case 1 where list == [2] && orphans == [99]:
        try app.repository.toggleFavorite(for: city(2, "Alabama", "US"))
        step = 2
      case 2 where list == []: return
      default: continue
      }
    }
    Issue.record("the changes have ended")
  }

  @Test("a repository tells each reader once of any number of changes, and the one in memory too")
  func changes() async throws {
    var stored = app.repository.changes.makeAsyncIterator()
    var inMemory = app.cities.changes.makeAsyncIterator()
    #expect(await stored.next() != nil)
    #expect(await inMemory.next() != nil)
    for id in [1, 2] { try app.toggle.execute(city(id, "C")) }
    #expect(await stored.next() != nil)
    #expect(await inMemory.next() != nil)
    try app.store.close()
    while await stored.next() != nil {}
    // Another catalog and a tap without a store are changes, too.
    let cities = InMemoryCityRepository()
    var alone = cities.changes.makeAsyncIterator()
    #expect(await alone.next() != nil)
    cities.load(SmartCity.catalog)
    #expect(await alone.next() != nil)
    cities.toggleFavorite(for: city(1, "C"))
    #expect(await alone.next() != nil)
  }

  @Test("a repository of an app's own need not know of changes")
  func unknown() async throws {
    struct Own: FavoriteCityRepository {
      func toggleFavorite(for city: City) -> Bool { true }
      func fetchFavorites() -> [City] { [] }
    }
    var notices = 0
    for await _ in Own().changes { notices += 1 }
    #expect(notices == 1)
  }

  @Test("the catalog in memory is a CityRepository")
  func repository() {
    let cities: any CityRepository = InMemoryCityRepository()
    cities.load(SmartCity.catalog)
    #expect(cities.cities.count == 7 && cities.city(5)?.name == "Sydney")
    #expect(cities.search(prefix: "an", favoritesOnly: false).map(\.id) == [3])
  }

  @Test("cities take-over: what the app's encoder writes of a city is taken over in whole")
  func encodedCities() throws {
    let array = Data(
      #"[{"isFavorite":true,"coord":{"lat":44.549999,"lon":34.283333},"name":"Hurzuf","_id":707860,"country":"UA"},{"isFavorite":false,"coord":{"lat":0,"lon":0},"name":"Novinki","_id":519188,"country":"RU"}]"#
        .utf8)
    let report = try app.repository.migrate(fromPersisted: array)
    #expect(report.count == 1 && report.failures == [])
    let city = try #require(app.repository.fetchFavorites().first)
    #expect(city.id == 707_860 && city.name == "Hurzuf" && city.country == "UA" && city.isFavorite)
    #expect(city.lon == 34.283333 && city.lat == 44.549999)
    let decoded = try JSONDecoder().decode([City].self, from: array)
    #expect(decoded.map(\.isFavorite) == [true, false] && decoded[0] == city)
  }

  @Test("cities take-over: the recent search terms keep their order, and removed ones do not come back")
  func searchTerms() throws {
    let terms = try RecentSearchTerms(app.store)
    let rows = (1...10).map { (term: "term \($0)", searchedAt: Date(timeIntervalSince1970: Double($0))) }
    try terms.migrate(from: rows + [(term: "ab", searchedAt: .now)])
    let newest = (3...10).reversed().map { "term \($0)" }
    #expect(terms.terms == newest)
    try terms.record("London")
    try terms.migrate(from: rows)
    #expect(terms.terms == ["London"] + newest.dropLast())
    try terms.removeAll()
    try terms.migrate(from: rows.suffix(8))
    #expect(terms.terms == [])
  }

  @Test(
    "cities take-over: rows of a database and an array of user defaults are one commit, and again is nothing")
  func migrate() throws {
    let rows = [city(1, "A", isFavorite: true), city(2, "B"), city(3, "C", isFavorite: true)]
    #expect(try app.repository.migrate(from: rows).count == 2 && app.store.read(\.commitCount) == 1)
    try app.repository.toggleFavorite(for: city(1, "A"))
    let array = Data(
      #"[{"_id":1,"name":"A","country":"X","coord":{"lon":0,"lat":0},"isFavorite":true},{"_id":4},{"id":5,"name":"E","country":"X","lon":1,"lat":2,"isFavorite":true},{"id":6,"name":"F","country":"X","lon":1,"lat":2}]"#
        .utf8)
    let report = try app.repository.migrate(fromPersisted: array)
    #expect(report.count == 1 && report.failures.map(\.description).first?.hasPrefix("record 2: ") == true)
    #expect(Set(app.repository.favoriteIDs()) == [3, 5])
    let digest = app.store.digest
    #expect(
      try app.repository.migrate(fromPersisted: array).count == 0
        && app.repository.migrate(from: rows).count == 0)
    #expect(app.store.digest == digest)
    #expect(throws: LibraryError.self) { try app.repository.migrate(fromPersisted: "{}") }
    // A row that the store refuses is reported, and the others are taken.
    let nowhere = City(id: 7, name: "G", country: "X", lon: .nan, lat: 0, isFavorite: true)
    let mixed = try app.repository.migrate(from: [nowhere, city(8, "H", isFavorite: true)])
    #expect(mixed.count == 1 && mixed.failures.count == 1 && Set(app.repository.favoriteIDs()) == [3, 5, 8])
  }
}
