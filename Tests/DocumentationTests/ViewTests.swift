import Heartlog
import Testing

struct RecipeList: View {
  @FavoritesQuery private var recipes: ItemList<Recipe>

  init(_ query: Favorites<Recipe>.Query) { _recipes = FavoritesQuery(query) }

  var body: some View {
    let isAlerting = Binding(get: { $recipes.lastError != nil }, set: { _ in $recipes.lastError = nil })
    List(recipes) { recipe in
      Button("♥ \(recipe.title)") { $recipes.toggle(recipe) }
    }
    .alert("Not saved", isPresented: isAlerting) {
    } message: {
      Text($recipes.lastError?.message ?? "")
    }
  }
}

/// The examples of views, whose alert a test dismisses as SwiftUI does.
@MainActor
@Suite("Views of favorites")
struct ViewTests {
  #if !canImport(SwiftUI)
    @Test("a tap in a list shows, and an alert tells of one that failed until it is dismissed")
    func list() async throws {
      let store = try FavoritesStore.inMemory()
      let recipes = try store.favorites(of: Recipe.self, in: "recipes")
      try await recipes.add(Recipe(id: "nata", title: "Pastel de nata"))
      let view = RecipeList(recipes.query)
      let alert = try #require(view.body as? Alert<List<Button>>)
      #expect(alert.body.rows.map(\.title) == ["♥ Pastel de nata"])
      try store.close()
      alert.body.rows[0].action()
      while !alert.isPresented.get() { await Task.yield() }
      alert.isPresented.set(false)
      #expect(!alert.isPresented.get())
    }
  #endif
}
