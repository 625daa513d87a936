import Foundation
import Heartlog
import Testing

/// The examples of "Following changes" on several processes.
@Suite("Extensions and widgets")
struct ExtensionTests {
  /// What a widget shows that only reads; nil if the app has not run yet.
  func titles(in group: URL) throws(HeartlogError) -> [String]? {
    var options = StoreOptions()
    options.access = .readOnly
    do {
      let store = try FavoritesStore(at: group, options: options)
      return try store.favorites(of: Recipe.self, in: "recipes").list().map(\.title)
    } catch {
      guard error.code == .notAStore else { throw error }
      return nil
    }
  }

  func didEnterBackground(_ model: FavoritesModel<Recipe>, _ store: FavoritesStore) async throws {
    await model.finishWriting()
    try await store.suspend()
  }

  func willEnterForeground(_ store: FavoritesStore) async throws {
    try await store.run { try $0.refresh() }
  }

  @Test("an app rests while its widget writes, and shows what it wrote when it is back")
  @MainActor
  func resting() async throws {
    let group = FileManager.default.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: group) }
    #expect(try titles(in: group) == nil)
    let app = try FavoritesStore(at: group)
    let widget = try FavoritesStore(at: group)
    let model = FavoritesModel(try app.favorites(of: Recipe.self, in: "recipes"))
    model.toggle(Recipe(id: "ribollita", title: "Ribollita"))
    try await didEnterBackground(model, app)
    let tart = Recipe(id: "nata", title: "Pastel de nata")
    try await widget.favorites(of: Recipe.self, in: "recipes").toggle(tart)
    try await willEnterForeground(app)
    while model.items.count < 2 { await Task.yield() }
    #expect(try titles(in: group) == model.items.map(\.title))
  }
}
