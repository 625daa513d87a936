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

@MainActor
func show(
  _ query: Favorites<Recipe>.Query, in source: UICollectionViewDiffableDataSource<Int, Recipe.ID>
) async {
  for await update in query.updates {
    let isAnimated = update.changed != nil
    await source.apply(NSDiffableDataSourceSnapshot(update, in: 0), animatingDifferences: isAnimated)
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

    @Test("a collection view follows a query, and makes the cell of a changed item anew")
    func collectionView() async throws {
      let recipes = try FavoritesStore.inMemory().favorites(of: Recipe.self, in: "recipes")
      try await recipes.add(Recipe(id: "nata", title: "Pastel de nata"))
      try await recipes.add(Recipe(id: "soup", title: "Soup"))
      let source = UICollectionViewDiffableDataSource<Int, Recipe.ID> { id in
        (try? recipes.item(id))?.title ?? "?"
      }
      let following = Task { await show(recipes.query.sorted(by: \.title), in: source) }
      while source.shown != ["Pastel de nata", "Soup"] { await Task.yield() }
      try await recipes.update(Recipe(id: "soup", title: "Onion soup"))
      while source.shown != ["Onion soup", "Pastel de nata"] { await Task.yield() }
      try await recipes.remove("nata")
      while source.shown != ["Onion soup"] { await Task.yield() }
      following.cancel()
      await following.value
    }
  #endif
}
