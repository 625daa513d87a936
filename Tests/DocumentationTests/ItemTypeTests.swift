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

  nonisolated struct ISBN: FavoriteID, Codable {
    let digits: String

    var favoriteID: String { digits }

    init?(favoriteID: String) {
      guard favoriteID.utf8.count == 13, favoriteID.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
        return nil
      }
      digits = favoriteID
    }
  }

  nonisolated struct RatedRecipe: FavoriteItem {
    static let library = "recipes"
    static var template: Self? { RatedRecipe(id: "", title: "") }

    let id: String
    var title: String
    var minutes: Int?
    /// New in this version.
    var rating = 3
  }

  nonisolated struct DownloadedRecipe: FavoriteItem {
    static let library = "recipes"
    static var localFields: Set<String> { ["video"] }

    let id: String
    var title: String
    /// Where this device has the video.
    var video: URL?
  }

  @Test("a field of this device is not in the log")
  func local() throws {
    let store = try FavoritesStore.inMemory()
    let file = URL(filePath: "/videos/ribollita.mp4")
    let downloaded = try store.favorites(of: DownloadedRecipe.self)
    try downloaded.update(DownloadedRecipe(id: "ribollita", title: "Ribollita", video: file))
    #expect(try downloaded.item("ribollita")?.video == file)
    #expect(try store.library("recipes").item("ribollita")?.fields.map(\.name) == ["title"])
  }

  @Test("an item of before gets what it lacks from the template")
  func template() throws {
    let store = try FavoritesStore.inMemory()
    try store.favorites(of: Recipe.self).add(Recipe(id: "ribollita", title: "Ribollita"))
    let rated = try store.favorites(of: RatedRecipe.self)
    print(rated.list().map(\.rating))  // [3]: written by the version before
    #expect(rated.list().map(\.rating) == [3])
    #expect(rated.failures.isEmpty)
  }

  @Test("flag and date are the store's, and no fields")
  func recipe() throws {
    let store = try FavoritesStore.inMemory()
    let recipes = try store.favorites(of: Recipe.self)
    try recipes.add(Recipe(id: "ribollita", title: "Ribollita", minutes: 90, ingredients: ["pane"]))
    let item = try recipes.item("ribollita")  // isFavorite: true, favoritedDate: the time of the add
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

  @Test("an id of one's own refuses other spellings")
  func isbn() {
    #expect(ISBN(favoriteID: "9788806219420")?.favoriteID == "9788806219420")
    #expect(ISBN(favoriteID: "978-88-06-21942-0") == nil)
    #expect(ISBN(favoriteID: "½½½½½½1") == nil)
  }
}
