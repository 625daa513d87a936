import Foundation
import Heartlog
import HeartlogShipping
import HeartlogTesting
import Testing

/// A plan for dinners. It is given the favorites, and does not know where they are stored.
struct DinnerPlan {
  let recipes: Favorites<Recipe>

  /// Makes all recipes of a dinner favorites, with the day as a note, or none.
  func add(_ dinner: [Recipe], on day: String) throws {
    try recipes.library.store.write {
      for recipe in dinner {
        try recipes.add(recipe)
        try recipes.setNote(day, of: recipe.id)
      }
    }
  }
}

/// The examples of "Testing and previews".
struct DinnerPlanTests {
  let clock = ManualClock()  // 2026-01-01T00:00:00Z
  let store: FavoritesStore
  let recipes: Favorites<Recipe>
  let soup = Recipe(id: "ribollita", title: "Ribollita")
  let tart = Recipe(id: "nata", title: "Pastel de nata")

  init() throws {
    store = try FavoritesStore.inMemory(clock: clock)
    recipes = try store.favorites(of: Recipe.self, in: "recipes")
  }

  @Test("a dinner is added as a whole, or not at all")
  func dinner() throws {
    let plan = DinnerPlan(recipes: recipes)
    #expect(throws: HeartlogError.self) { try plan.add([soup, Recipe(id: "", title: "?")], on: "Friday") }
    #expect(recipes.count == 0)
    try plan.add([soup, tart], on: "Friday")
    #expect(recipes.note(of: "nata") == "Friday")
  }

  @Test("the newest favorite is first, and yesterday is remembered")
  func days() throws {
    try recipes.add(soup)
    clock.advance(by: 86_400)
    try recipes.add(tart)
    #expect(recipes.list().map(\.id) == ["nata", "ribollita"])
    #expect(recipes.favoritedDate(of: "nata") == clock.now)
    let yesterday = try store.state(at: .time(clock.now - 60))
    #expect(yesterday.favorites(in: "recipes").map(\.id) == ["ribollita"])
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
    #expect(model.contains("nata"))
    await model.finishWriting()
    #expect(model.lastError?.code == .wrongClock && !model.contains("nata"))
  }

  @Test("a model shows what others write", .timeLimit(.minutes(1)))
  @MainActor
  func others() async throws {
    let model = FavoritesModel(recipes)
    try recipes.add(soup)
    while model.items.isEmpty { await Task.yield() }
    #expect(model.items.map(\.title) == ["Ribollita"])
  }

  @Test("each dinner is told as one addition and one note for each recipe")
  func changes() async throws {
    let changes = recipes.changes
    try DinnerPlan(recipes: recipes).add([soup], on: "Friday")
    try store.close()

    var told: [Action] = []
    for await case .change(let change) in changes { told.append(change.event.action) }
    #expect(told == [.added, .changed])
  }

  @Test("two devices show the same after a sync, and what they disagreed on")
  func devices() throws {
    let otherClock = ManualClock()
    let other = try FavoritesStore.inMemory(clock: otherClock, seed: 2)
    let otherRecipes = try other.favorites(of: Recipe.self, in: "recipes")
    func sync() throws { _ = try StoreCarrier(other).sync(store, options: SyncOptions()) }

    try recipes.add(soup)
    try sync()
    #expect(otherRecipes.contains("ribollita"))

    try recipes.setNote("with bread", of: "ribollita")
    otherClock.advance(by: 60)
    try otherRecipes.setNote("without", of: "ribollita")
    try sync()
    #expect(recipes.note(of: "ribollita") == "without")  // the last tap wins
    #expect(store.digest == other.digest)
    #expect(store.conflicts.map(\.item) == ["ribollita"] && store.conflicts == other.conflicts)
  }
}

extension FavoritesModel where Item == Recipe {
  /// Creates a model for previews, with favorites in memory. The first is the newest.
  static func preview(_ recipes: [Recipe]) throws -> FavoritesModel {
    let favorites = try FavoritesStore.inMemory().favorites(of: Recipe.self, in: "recipes")
    let newest = Date(timeIntervalSince1970: 1_767_225_600)
    for (days, recipe) in recipes.enumerated() {
      try favorites.add(recipe, since: newest.addingTimeInterval(-86_400 * Double(days)))
    }
    return FavoritesModel(favorites)
  }
}

/// The text of "Testing and previews" beside its examples.
@Suite("Testing and previews")
struct TestingTextTests {
  private let soup = Recipe(id: "ribollita", title: "Ribollita")

  @Test("a preview lists what it is given, in its order")
  @MainActor
  func preview() async throws {
    let model = try FavoritesModel.preview([soup, Recipe(id: "nata", title: "Pastel de nata")])
    #expect(model.items.map(\.id) == ["ribollita", "nata"])
    model.toggle(soup)
    #expect(model.items.map(\.id) == ["nata"])
    await model.finishWriting()
    #expect(model.lastError == nil)
  }

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
      return try await FavoritesStore.inMemory().library("recipes").async.add("nata")
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
    options.lockMillisecondsMax = 0
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
