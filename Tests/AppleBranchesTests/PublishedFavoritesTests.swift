import Foundation
import Heartlog
import Testing

#if canImport(AppleObservation)
  import AppleObservation
#endif

nonisolated struct Essay: FavoriteItem {
  static let library = "essays"
  let id: String
  let title: String
}

struct EssayList: View {
  @StateObject private var essays: PublishedFavorites<Essay>

  init(_ essays: Favorites<Essay>) {
    _essays = StateObject(wrappedValue: PublishedFavorites(essays))
  }

  var body: some View {
    List(essays.items) { essay in
      Button("♥ \(essay.title)") { essays.model.toggle(essay) }
    }
  }
}

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

  @Test("the example in their documentation is compiled, and shows them")
  func example() async throws {
    let essays = try FavoritesStore.inMemory().favorites(of: Essay.self)
    try essays.add(Essay(id: "1580", title: "On Idleness"))
    #if !canImport(SwiftUI)
      let list = try #require(EssayList(essays).body as? List<Button>)
      #expect(list.rows.map(\.title) == ["♥ On Idleness"])
    #endif
    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try String(
      contentsOf: package.appending(path: "Sources/Heartlog/Observation/PublishedFavorites.swift"),
      encoding: .utf8)
    let lines = page.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { $0.hasPrefix("///") }
    let shown = lines.drop { $0 != "/// ```swift" }.dropFirst().prefix { $0 != "/// ```" }
      .map { String($0.dropFirst(4)) }.joined(separator: "\n")
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    #expect(shown.hasPrefix("struct EssayList") && source.contains(shown))
  }

  /// The stand-in publishes nothing, so this looks again and again.
  private func settled(_ condition: () -> Bool) async {
    while !condition(), !Task.isCancelled { await Task.yield() }
  }
}
