import HeartlogLibraries
import LibraryTestSupport
import Testing

@testable import Heartlog

@Suite("cities: merging into an app's own array")
struct CityArrayMergeTests {
  private let app: SmartCity
  init() throws { app = try SmartCity() }

  @Test("an array is merged where it lies: flags are set and cleared, everything else stays")
  func inPlace() throws {
    try app.repository.toggleFavorite(for: SmartCity.catalog[0])
    var cities = SmartCity.catalog
    cities[2].isFavorite = true
    let report = try app.merge.execute(in: &cities)
    #expect(report.favoriteCount == 1 && report.orphans.isEmpty && report.refreshedCount == 0)
    var expected = SmartCity.catalog
    expected[0].isFavorite = true
    #expect(cities == expected)
    #expect(try app.merge.execute(SmartCity.catalog).cities == expected)
  }

  @Test(
    "ids that agree in their last 32 bits are not one another", arguments: [1 << 32, 1 << 40, -(1 << 32)])
  func longIDs(distance: Int) throws {
    var cities = [city(5, "Near"), city(5 + distance, "Far")]
    try app.repository.toggleFavorite(for: cities[1])
    try app.merge.execute(in: &cities)
    #expect(cities.map(\.isFavorite) == [false, true])
    app.cities.load(cities)
    try app.merge.execute()
    #expect(app.cities.fetchFavorites().map(\.name) == ["Far"])
    app.cities.load([city(5, "Near")])
    #expect(try app.merge.execute().orphans.map(\.id) == [5 + distance])
    #expect(!app.cities.isFavorite(5))
  }

  @Test("each part of what a catalog says of a favorite counts; the sign of zero does not")
  func differences() throws {
    let quito = City(id: 1, name: "Quito", country: "EC", lon: 0, lat: -0.25)
    try app.repository.toggleFavorite(for: quito)
    func refreshed(_ change: (inout City) -> Void) throws -> Int {
      var cities = [quito]
      change(&cities[0])
      let count = try app.merge.execute(in: &cities).refreshedCount
      app.cities.load(cities)
      #expect(try app.merge.execute().refreshedCount == 0)
      #expect(try app.repository.favorites.update(quito) == (count == 1))
      return count
    }
    #expect(try refreshed { $0.lon = -0.0 } == 0)
    #expect(try refreshed { $0.name = "Quito\u{301}" } == 1)
    #expect(try refreshed { $0.country = "" } == 1)
    #expect(try refreshed { $0.lon = 1 } == 1)
    #expect(try refreshed { $0.lat = 0.25 } == 1)
    // The same letters, in another normal form.
    #expect(try refreshed { $0.name = "Quit\u{F3}" } == 1)
    #expect(try refreshed { $0.name = "Quito\u{301}" } == 1)
  }

  @Test("of cities that share an id the first says what the favorite is called, at every merge")
  func sharedID() throws {
    try app.repository.toggleFavorite(for: city(1, "Rome", "US"))
    let cities = [city(1, "Roma", "IT"), city(1, "Rome", "US")]
    for _ in 0..<2 {
      app.cities.load(cities)
      try app.merge.execute()
      #expect(try app.repository.favorites.item(1)?.name == "Roma")
    }
    #expect(try app.merge.execute(cities).report.refreshedCount == 0)
  }
}
