import Foundation
import Heartlog
import Testing

/// The examples of "Extensions and widgets".
@Suite("Extensions and widgets")
struct ExtensionTests {
  func openShared(in group: URL) throws -> FavoritesStore {
    var options = StoreOptions()
    options.origin = "widget"
    return try FavoritesStore(at: group.appending(path: "favorites.heartlog"), options: options)
  }

  func titles(in store: URL, limit: Int) throws -> [String] {
    var options = StoreOptions()
    options.access = .readOnly
    let favorites = try FavoritesStore(at: store, options: options)
    return try favorites.favorites(of: Recipe.self, in: "recipes").list(limit: limit).map(\.title)
  }

  @MainActor
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
    let app = try openShared(in: group)
    let widget = try openShared(in: group)
    let model = FavoritesModel(try app.favorites(of: Recipe.self, in: "recipes"))
    model.toggle(Recipe(id: "ribollita", title: "Ribollita"))
    try await didEnterBackground(model, app)
    try widget.favorites(of: Recipe.self, in: "recipes").toggle(Recipe(id: "nata", title: "Pastel de nata"))
    try await willEnterForeground(app)
    while model.items.count < 2 { await Task.yield() }
    let store = group.appending(path: "favorites.heartlog")
    #expect(try titles(in: store, limit: 10) == model.items.map(\.title))
  }
}
