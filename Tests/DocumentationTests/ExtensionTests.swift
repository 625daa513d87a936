import Foundation
import Heartlog
import Testing

/// The examples of "Extensions and widgets".
@Suite("Extensions and widgets")
struct ExtensionTests {
  func openShared(in group: URL, as origin: String) throws -> FavoritesStore {
    var options = StoreOptions()
    options.origin = origin
    return try FavoritesStore(at: group.appending(path: "favorites.heartlog"), options: options)
  }

  func titles(in group: URL, limit: Int) throws(HeartlogError) -> [String] {
    var options = StoreOptions()
    options.access = .readOnly
    do {
      let store = try FavoritesStore(at: group.appending(path: "favorites.heartlog"), options: options)
      return try store.favorites(of: Recipe.self, in: "recipes").list(limit: limit).map(\.title)
    } catch {
      // The app has not run yet.
      guard error.code == .notAStore else { throw error }
      return []
    }
  }

  func didEnterBackground(_ model: FavoritesModel<Recipe>, _ store: FavoritesStore) async throws {
    await model.finishWriting()
    try await store.async.rest()
  }

  func willEnterForeground(_ store: FavoritesStore) async throws {
    try await store.async.refresh()
  }

  @Test("an app rests while its widget writes, and shows what it wrote when it is back")
  @MainActor
  func resting() async throws {
    let group = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: group) }
    #expect(try titles(in: group, limit: 10).isEmpty)
    let app = try openShared(in: group, as: "app")
    let widget = try openShared(in: group, as: "widget")
    let model = FavoritesModel(try app.favorites(of: Recipe.self, in: "recipes"))
    model.toggle(Recipe(id: "ribollita", title: "Ribollita"))
    try await didEnterBackground(model, app)
    try widget.favorites(of: Recipe.self, in: "recipes").toggle(Recipe(id: "nata", title: "Pastel de nata"))
    try await willEnterForeground(app)
    while model.items.count < 2 { await Task.yield() }
    #expect(try titles(in: group, limit: 10) == model.items.map(\.title))
  }
}
