import Foundation
import Heartlog
import HeartlogSync
import HeartlogTesting
import Testing

/// The examples of HeartlogTesting's page.
struct RecipeTests {
  let clock = ManualClock()  // 2026-01-01T00:00:00Z
  let store: FavoritesStore
  let recipes: Favorites<Recipe>
  let soup = Recipe(id: "ribollita", title: "Ribollita")
  let tart = Recipe(id: "nata", title: "Pastel de nata")

  init() throws {
    store = try FavoritesStore.inMemory(clock: clock)
    recipes = try store.favorites(of: Recipe.self, in: "recipes")
  }

  @Test("a tap shows at once, and a tap that fails is taken back")
  @MainActor
  func taps() async throws {
    let model = FavoritesModel(recipes)
    model.toggle(soup)
    #expect(model.items.map(\.id) == ["ribollita"])
    await model.finishWriting()
    #expect(model.lastError == nil && recipes.contains("ribollita"))
    clock.set(to: .distantPast)
    model.toggle(tart)
    await model.finishWriting()
    #expect(model.lastError?.code == .wrongClock && !model.contains("nata"))
  }

  @Test("a model shows what others write", .timeLimit(.minutes(1)))
  @MainActor
  func others() async throws {
    let model = FavoritesModel(recipes)
    try await recipes.add(soup)
    while model.items.isEmpty { await Task.yield() }
    #expect(model.items.map(\.title) == ["Ribollita"])
  }

  @Test("two devices show the same after a sync, and what they disagreed on")
  func devices() async throws {
    let other = try FavoritesStore.inMemory(clock: clock, seed: 2)
    try await recipes.setNote("with bread", of: "ribollita")
    clock.advance(by: 60)
    try other.library("recipes").setNote("without", of: "ribollita")
    try await store.sync(with: StoreCarrier(other))
    #expect(recipes.note(of: "ribollita") == "without")  // the last tap wins
    #expect(store.digest == other.digest)
    #expect(store.conflicts.map(\.item) == ["ribollita"])
  }
}

/// The text of HeartlogTesting's page beside its examples.
@Suite("Errors in tests")
struct TestingTextTests {
  private let soup = Recipe(id: "ribollita", title: "Ribollita")

  @Test("all taps fail if the clock is before 1970")
  @MainActor
  func failingTaps() async throws {
    var options = StoreOptions()
    options.clock = { -1 }
    let model = FavoritesModel(
      try FavoritesStore.inMemory(options: options).favorites(of: Recipe.self, in: "recipes"))
    model.toggle(soup)
    await model.finishWriting()
    #expect(model.lastError?.code == .wrongClock && model.items.isEmpty)
  }

  private func code(_ body: () throws -> Void) -> HeartlogError.Code? {
    do { try body() } catch { return (error as? HeartlogError)?.code }
    return nil
  }

  private func write(_ store: FavoritesStore) throws { try store.library("recipes").toggle("nata") }

  @Test("a store in memory throws the errors of the table")
  func errorsInMemory() async throws {
    let clock = ManualClock()
    let memory = try FavoritesStore.inMemory(clock: clock)
    #expect(code { try memory.library("recipes").add("") } == .invalid)
    let weights = try memory.favorites(of: Weight.self, in: "weights")
    #expect(code { try weights.add(Weight(id: 1, grams: .nan)) } == .invalidItem)
    clock.set(to: .distantPast)
    #expect(code { try write(memory) } == .wrongClock)
    try memory.close()
    #expect(code { try write(memory) } == .misuse)
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      let store = try FavoritesStore.inMemory()
      return try await store.write { try store.library("recipes").add("nata") }
    }
    await #expect { try await cancelled.value } throws: { ($0 as? HeartlogError)?.code == .cancelled }
  }

  @Test("a store in a folder throws the errors of the table")
  func errorsInFolder() throws {
    let folder = URL.temporaryDirectory.appending(path: "heartlog-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var options = StoreOptions()
    options.createsIfMissing = false
    #expect(code { _ = try FavoritesStore(at: folder, options: options) } == .notAStore)
    let store = try FavoritesStore(at: folder)
    try write(store)
    options.access = .readOnly
    #expect(code { try write(FavoritesStore(at: folder, options: options)) } == .readOnly)
    options.access = .readWrite
    options.lockTimeout = .zero
    let other = try FavoritesStore(at: folder, options: options)
    let nested = code {
      try store.write {
        try write(store)
        try write(other)
      }
    }
    #expect(nested == .locked)
    try other.close()
    try store.close()
    try Data("?".utf8).write(to: folder.appending(path: "store"))
    #expect(code { _ = try FavoritesStore(at: folder) } == .corrupt)
  }

  private nonisolated struct Weight: Codable, Identifiable, Sendable {
    let id: Int
    let grams: Double
  }
}
