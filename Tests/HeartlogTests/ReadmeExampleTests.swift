import Foundation
import Heartlog
import Testing

/// The example of README.md, compiled and run.
@Suite("The README's example")
struct ReadmeExampleTests {
  private func example(at url: URL) async throws {
    // README: begin
    nonisolated struct Recipe: Codable, Identifiable, Sendable {
      let id: String
      let title: String
    }
    let store = try FavoritesStore(at: url)  // or .inMemory()
    let recipes = try store.favorites(of: Recipe.self, in: "recipes")
    let soup = Recipe(id: "ribollita", title: "Ribollita")
    try await recipes.toggle(soup)  // true: a favorite now, and safe on disk
    try await store.write {  // one commit, one fsync: both or none
      try recipes.add(Recipe(id: "nata", title: "Pastel de nata"))
      try recipes.remove(soup)
    }
    let found = recipes.query.search("nata").sorted(by: \.title)
    for recipe in try found.items() { print(recipe.title) }  // Pastel de nata; `found.updates` follows it
    let yesterday = try store.state(at: .time(Date.now.addingTimeInterval(-86_400)))
    print(yesterday.favorites(in: "recipes").count)  // 0
    // README: end
    #expect(try await recipes.toggle(soup))
    #expect(try await recipes.toggle(soup) == false)
    #expect(try found.items().map(\.title) == ["Pastel de nata"])
    #expect(yesterday.favorites(in: "recipes").isEmpty)
    #expect(try store.readLog().next()?.records.count == 1)
  }

  @Test("it does what its comments say")
  func runs() async throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: url) }
    try await example(at: url)
  }

  @Test("it stands in the README line by line")
  func isTheSame() throws {
    let source = try lines(of: #filePath)
    let begin = try #require(source.firstIndex { $0.hasSuffix("// README: begin") })
    let end = try #require(source.firstIndex { $0.hasSuffix("// README: end") })
    let compiled = source[(begin + 1)..<end].map { String($0.dropFirst(4)) }

    let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let page = try lines(of: package.appending(path: "README.md").path)
    let opening = try #require(page.firstIndex(of: "```swift"))
    let shown = page[(opening + 1)...].prefix { $0 != "```" }
    #expect(Array(shown) == compiled)
  }

  private func lines(of path: String) throws -> [String] {
    try String(contentsOfFile: path, encoding: .utf8).components(separatedBy: "\n")
  }
}
