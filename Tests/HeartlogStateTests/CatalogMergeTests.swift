import HeartlogFormat
import HeartlogState
import TestSupport
import Testing

@Suite("Catalog merge")
struct CatalogMergeTests {
  private struct City: Equatable {
    let id: Int
    let name: String
    var isFavorite = false
    var favoritedDate: Milliseconds?
  }

  private func merge(_ catalog: [City], _ state: FavoritesState) -> CatalogMerge<City, ItemState> {
    state.merge(into: catalog, of: "cities", id: { String($0.id) }) { city, isFavorite, date in
      city.isFavorite = isFavorite
      city.favoritedDate = date
    }
  }

  private func state(_ events: [(Int, Action, Milliseconds?)]) -> FavoritesState {
    var writer = StreamWriter(1)
    var state = FavoritesState()
    state.apply(
      writer.commit(
        at: 500,
        events.map { id, action, date in
          .event(
            Event(
              library: "cities", item: String(id), action: action, favoritedDate: date,
              fields: [Field(name: "name", value: .string("stored"))]))
        }))
    return state
  }

  @Test("flags are replaced by id; order and metadata stay the catalog's; duplicates share the flag")
  func flags() {
    let catalog = [
      City(id: 3, name: "Turin", isFavorite: true, favoritedDate: 1), City(id: 1, name: "Bern"),
      City(id: 2, name: "Basel", isFavorite: true), City(id: 1, name: "Bern again"),
    ]
    let merged = merge(catalog, state([(1, .added, 20), (2, .added, 30), (2, .removed, nil)]))
    #expect(
      merged.catalog == [
        City(id: 3, name: "Turin"), City(id: 1, name: "Bern", isFavorite: true, favoritedDate: 20),
        City(id: 2, name: "Basel"), City(id: 1, name: "Bern again", isFavorite: true, favoritedDate: 20),
      ])
    #expect(merged.orphans.isEmpty)
  }

  @Test("an empty library clears every flag, and an empty catalog leaves every favorite an orphan")
  func empty() {
    let catalog = [City(id: 1, name: "Bern", isFavorite: true, favoritedDate: 9)]
    #expect(merge(catalog, FavoritesState()).catalog == [City(id: 1, name: "Bern")])
    let orphans = merge([], state([(1, .added, 20), (2, .added, 30), (3, .added, 20), (4, .removed, nil)]))
      .orphans
    #expect(orphans.map(\.id) == ["2", "3", "1"])
    #expect(orphans.first?.value(of: "name") == .string("stored"))
    #expect(orphans.first?.favoritedDate == 30)
  }

  @Test("a large catalog merges as a dictionary of flags would have it")
  func large() {
    let seed: UInt64 = 23
    print("catalog: seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let favorites = Set((0..<10_000).map { _ in Int.random(in: 0..<220_000, using: &generator) })
    let merged = merge(
      (0..<200_000).map { City(id: $0, name: "", isFavorite: $0 % 3 == 0) },
      state(favorites.map { ($0, .added, nil) }))
    #expect(merged.catalog.allSatisfy { $0.isFavorite == favorites.contains($0.id) })
    #expect(merged.catalog.map(\.id) == Array(0..<200_000))
    #expect(Set(merged.orphans.map(\.id)) == Set(favorites.filter { $0 >= 200_000 }.map(String.init)))
  }

  @Test("an error from the caller's closure comes through")
  func errors() {
    struct Refused: Error {}
    #expect(throws: Refused.self) {
      try FavoritesState().merge(into: [1], of: "cities", id: { _ in throw Refused() }) { _, _, _ in }
    }
  }
}
