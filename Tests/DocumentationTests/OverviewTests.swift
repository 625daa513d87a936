import Foundation
import Heartlog
import HeartlogLibraries
import HeartlogTesting
import Testing

/// The examples of the libraries' main pages.
@Suite("The overviews")
struct OverviewTests {
  private let url = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")

  @Test("a store, a type, a tap")
  func heartlog() throws {
    defer { try? FileManager.default.removeItem(at: url) }
    struct Recipe: Codable, Identifiable, Sendable {
      let id: String
      let title: String
    }
    let store = try FavoritesStore(at: url)
    let recipes = try store.favorites(of: Recipe.self, in: "recipes")
    try recipes.toggle(Recipe(id: "ribollita", title: "Ribollita"))
    #expect(recipes.list().map(\.title) == ["Ribollita"])
  }

  @Test("libraries share one store")
  func libraries() throws {
    let folder = url
    defer { try? FileManager.default.removeItem(at: folder) }
    let archive = Archive(identifier: "art_of_war_librivox")
    let address = try #require(URL(string: "https://arxiv.org/abs/2006.08594v1"))
    let paper = Paper(
      id: "2006.08594v1", title: "A paper", publishedDate: .now, pdfURL: address, linkURL: address)
    let store = try FavoritesStore(at: folder)
    let archives = try FavoriteArchives(store)
    let papers = try FavoritePapers(store)
    try archives.addFavoriteArchive(archive)
    try papers.toggleFavorite(for: paper)
    #expect(archives.favoriteArchives.map(\.id) == ["art_of_war_librivox"])
    #expect(papers.isFavorite(paper))
  }

  @Test("a clock that a test moves")
  func testing() throws {
    let clock = ManualClock()  // 2026-01-01T00:00:00Z
    let store = try FavoritesStore.inMemory(clock: clock)
    let recipes = try store.favorites(of: Recipe.self, in: "recipes")

    try recipes.add(Recipe(id: "ribollita", title: "Ribollita"))
    clock.advance(by: 86_400)
    try recipes.add(Recipe(id: "nata", title: "Pastel de nata"))

    print(recipes.list().map(\.id))  // ["nata", "ribollita"]
    print(try store.state(at: .time(clock.now - 60)).counts(of: "recipes").favorites)  // 1
    #expect(recipes.list().map(\.id) == ["nata", "ribollita"])
    #expect(try store.state(at: .time(clock.now - 60)).counts(of: "recipes").favorites == 1)
  }

  @Test("two devices that meet in a state")
  func devices() throws {
    let clock = ManualClock()
    let phone = try FavoritesStore.inMemory(clock: clock, seed: 1)
    let tablet = try FavoritesStore.inMemory(clock: clock, seed: 2)
    try phone.library("recipes").add("ribollita")
    clock.advance(by: 60)
    try tablet.library("recipes").toggle("ribollita")
    try tablet.library("recipes").toggle("ribollita")

    var both = FavoritesState()
    for store in [tablet, phone] {
      let log = try store.readLog()
      while let commit = try log.next() { both.apply(commit) }
    }
    print(both.isFavorite("ribollita", in: "recipes"))  // false: the last tap wins
    #expect(both.isFavorite("ribollita", in: "recipes") == false)
    #expect(both.eventCount == 3)
  }
}
