import Heartlog
import HeartlogLibraries

/// The catalog with hearts from the store, search, the filter for favorites, and a catalog that changes.
enum CitiesStory: Story {
  static let name = "cities"
  private static let (lisboa, porto, tokyo, london) = (2_267_057, 2_735_943, 1_850_147, 2_643_743)

  static func play(on device: Device, _ display: Display) async throws {
    display.app(name, "Smart City")
    let catalog = try City.catalog(Service.bytes("api/cities-catalog.json"))
    let clock = device.clock
    func launch() throws -> CitySearch {
      try CitySearch(device.launch(name)) { clock.milliseconds }
    }

    var search = try launch()
    try search.show(catalog)
    display.step("Launched: the catalog is merged with the favorites of the store")
    display.list(search)

    display.step("\"po\" in the search field, and a tap on the heart of Porto")
    search.query = "po"
    try search.tapHeart(of: porto)
    display.list(search)

    display.step("Hearts for Lisboa, Tōkyō and London; the last one in the detail screen, and taken back")
    for id in [lisboa, tokyo, london, london] {
      clock.advance(by: 60)
      try search.tapHeart(of: id)
    }
    display.screen("Detail", [search.city(london)].compactMap { $0?.row })
    search.query = ""
    search.showsFavoritesOnly = true
    display.list(search)

    display.step("Searched for: \"lis\", \"san\", \"li\" (too short to be remembered), \"lis\" again")
    for term in ["lis", "san", "li", "lis"] {
      clock.advance(by: 60)
      search.query = term
      try search.submit()
    }
    display.screen("Recent searches", search.recentTerms)
    let before = try search.favorites().map(\.id)

    display.step("Launched again, with another catalog: Porto is called Oporto in it, and Tōkyō is missing")
    search = try launch()
    try search.show(
      catalog.filter { $0.id != tokyo }.map { city in
        var city = city
        if city.id == porto { city.name = "Oporto" }
        return city
      })
    display.screen("Favorites, newest first", try search.favorites().map(\.row))
    display.screen("Not in the catalog, and favorites all the same", search.report?.orphans.map(\.row) ?? [])

    let after = try search.favorites().map(\.id)
    // Hearts and their dates are in the store. No catalog can remove them.
    guard after == before else { throw HeartlogError(.corrupt, "a catalog has changed the favorites") }
    display.step("\(before.count) favorites before the refresh, \(after.count) after it, in the same order.")
  }
}

extension City {
  /// One row of a list.
  var row: String { "\(heart(isFavorite)) \(flagEmoji) \(name)" }
}

@MainActor
extension Display {
  fileprivate func list(_ search: CitySearch) {
    let filter = search.showsFavoritesOnly ? "Favorites" : "All"
    let shown = search.rows.prefix(6).map(\.row)
    let more = search.rows.count - shown.count
    screen(
      search.query.isEmpty ? filter : "\(filter), \"\(search.query)…\"",
      shown + (more > 0 ? ["… and \(more) more"] : []), orElse: "No city.")
  }
}
