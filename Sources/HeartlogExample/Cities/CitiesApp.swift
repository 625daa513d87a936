import Foundation
import Heartlog
import HeartlogLibraries

/// Smart City: a catalog of a service merged with the favorites of the store, with a search by prefix that is remembered.
@MainActor final class CitiesApp: App {
  let name = "cities"
  var query = ""
  private let shelf: Shelf<City>
  private let cities = InMemoryCityRepository()
  private let merge: any MergePersistedFavoritesUseCase
  private let recent: RecentSearchTerms
  /// The catalog as it was received first. The service sends another one at each refresh.
  private let original: [City]
  private var isOriginal = true
  private static let catalogPane = 0

  init(_ store: FavoritesStore, clock: @escaping @Sendable () -> Milliseconds) throws {
    let repository = try DefaultFavoriteCityRepository(store)
    merge = DefaultMergePersistedFavoritesUseCase(repository: repository, cities: cities)
    recent = try RecentSearchTerms(store, clock: clock)
    original = try City.catalog(Service.bytes("api/cities-catalog.json"))
    shelf = Shelf(repository.favorites, catalog: original) { "\($0.flagEmoji) \($0.name)" }
    cities.load(original)
  }

  var panes: [Pane] {
    let listed = Set(shelf.catalog.map(\.id))
    return [
      Pane(
        title: "Catalog", rows: cities.search(prefix: query).map { shelf.row($0) }, placeholder: "No city.",
        keys: "c refresh  ⏎ open  / search"),
      shelf.favorites(matching: query, placeholder: "No favorite cities."),
      shelf.pane(
        "Not listed", of: shelf.model.items.filter { !listed.contains($0.id) },
        placeholder: "Every favorite is in the catalog."),
      Pane(
        title: "Searches",
        rows: recent.terms.map { term in
          Row(text: term) { [weak self] in
            self?.query = term
            return .pane(Self.catalogPane)
          }
        }, placeholder: "Nothing was searched for."),
    ]
  }

  func toggle(_ row: Row) throws { try shelf.toggle(row) }
  func finishWriting() async throws { try await shelf.finishWriting() }

  func didSearch() throws { try recent.record(query) }

  func press(_ key: Character) throws -> String? {
    guard key == "c" else { return nil }
    isOriginal.toggle()
    // A later catalog, in which Porto has another name, and Tōkyō is missing.
    let (porto, tokyo) = (2_735_943, 1_850_147)
    shelf.catalog =
      isOriginal
      ? original
      : original.filter { $0.id != tokyo }.map { city in
        var city = city
        if city.id == porto { city.name = "Oporto" }
        return city
      }
    cities.load(shelf.catalog)
    let report = try merge.execute()
    return
      "\(shelf.catalog.count) cities received; \(report.favoriteCount) favorites, of which \(report.refreshedCount) "
      + "updated and \(report.orphans.count) not listed"
  }

  func detail(of row: Row) throws -> [String] {
    try shelf.item(row).map { ["\($0.country)  latitude \($0.lat), longitude \($0.lon)", "id \($0.id)"] }
      ?? []
  }
}
