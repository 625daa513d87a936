import AppleObservation
import Heartlog
import Testing

@MainActor
@Suite("Favorites for views before @Observable", .timeLimit(.minutes(1)))
struct PublishedFavoritesTests {
  private struct Recipe: FavoriteItem, Equatable {
    static let library = "recipes"
    let id: String
  }

  @Test("they follow the model: taps, foreign changes, failures and errors")
  func follow() async throws {
    let store = try FavoritesStore.inMemory()
    let recipes = try store.favorites(of: Recipe.self)
    try recipes.add(Recipe(id: "soup"))
    let published = PublishedFavorites(recipes, order: .byID)
    #expect(published.items == [Recipe(id: "soup")])
    published.model.toggle(Recipe(id: "nata"))
    await settled { published.items.map(\.id) == ["nata", "soup"] }
    try recipes.remove("soup")
    await settled { published.items.map(\.id) == ["nata"] }
    await published.model.finishWriting()
    try store.close()
    published.model.remove("nata")
    await settled { published.lastError?.code == .misuse && published.items.map(\.id) == ["nata"] }
    published.lastError = nil
    #expect(published.failedTaps.isEmpty && published.model.failedTaps.isEmpty)
  }

  /// The stand-in publishes nothing, so this looks again and again.
  private func settled(_ condition: () -> Bool) async {
    while !condition(), !Task.isCancelled { await Task.yield() }
  }
}
