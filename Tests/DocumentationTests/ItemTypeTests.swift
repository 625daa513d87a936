import Foundation
import Heartlog
import Testing

/// The examples of "Your own item type".
@Suite("An item type of one's own")
struct ItemTypeTests {
  nonisolated struct Recipe: FavoriteItem {
    static let library = "recipes"

    let id: String
    var title: String
    var minutes: Int?
    var ingredients: [String] = []
    /// Set from the store when an item is read.
    var isFavorite = false
    var favoritedDate: Date?
  }

  nonisolated struct RatedRecipe: FavoriteItem {
    static let library = "recipes"
    static var template: Self? { RatedRecipe(id: "", title: "") }

    let id: String
    var title: String
    var rating = 3  // new in this version
  }

  @Test("an item of before gets what it lacks from the template")
  func template() throws {
    let store = try FavoritesStore.inMemory()
    try store.favorites(of: Recipe.self).add(Recipe(id: "ribollita", title: "Ribollita"))
    let rated = try store.favorites(of: RatedRecipe.self)
    #expect(rated.list().map(\.rating) == [3])
    #expect(rated.failures.isEmpty)
  }

  @Test("flag and date are the store's, and no fields")
  func recipe() throws {
    let store = try FavoritesStore.inMemory()
    let recipes = try store.favorites(of: Recipe.self)
    try recipes.add(Recipe(id: "ribollita", title: "Ribollita", minutes: 90, ingredients: ["pane"]))
    let item = try recipes.item("ribollita")
    #expect(item?.isFavorite == true)
    #expect(item?.favoritedDate == recipes.favoritedDate(of: "ribollita"))
    #expect(recipes.library.item("ribollita")?.fields.map(\.name) == ["ingredients", "minutes", "title"])
  }

  @Test("an update by id changes what is there now, and a toggle by id writes no fields")
  func byID() throws {
    let store = try FavoritesStore.inMemory()
    let recipes = try store.favorites(of: Recipe.self)
    try recipes.add(Recipe(id: "ribollita", title: "Ribollita", ingredients: ["pane"]))
    try recipes.update("ribollita") { $0.ingredients.append("cavolo nero") }
    try recipes.toggle("ribollita")  // writes no fields
    #expect(try recipes.item("ribollita")?.ingredients == ["pane", "cavolo nero"])
    #expect(!recipes.contains("ribollita"))
  }

  @Test("what is coalesced is read at once by its id, and listed once it is written")
  func coalesced() throws {
    let store = try FavoritesStore.inMemory()
    let recipes = try store.favorites(of: Recipe.self)
    try recipes.add(Recipe(id: "ribollita", title: "Ribollita"))
    for minutes in 1...90 {
      try recipes.update("ribollita", coalescing: .seconds(5)) { $0.minutes = minutes }  // as a slider moves
    }
    #expect(try recipes.item("ribollita")?.minutes == 90)
    try store.flush()
    #expect(recipes.list().map(\.minutes) == [90])
  }
}
