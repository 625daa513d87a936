import Heartlog
import HeartlogTesting
import Synchronization
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The examples of "Following changes", "Looking back" and "What can go wrong".
@Suite("Following, looking back, errors")
struct FollowingTests {
  private let clock = ManualClock()
  private let store: FavoritesStore
  private let recipes: Favorites<Recipe>
  private let soup = Recipe(id: "ribollita", title: "Ribollita")

  init() throws {
    store = try FavoritesStore.inMemory(clock: clock)
    recipes = try store.favorites(of: Recipe.self, in: "recipes")
  }

  @Test("a model shows a tap when it returns")
  @MainActor
  func model() {
    let model = FavoritesModel(recipes)
    model.toggle(Recipe(id: "nata", title: "Pastel de nata"))
    #expect(model.items.map(\.title) == ["Pastel de nata"])
    #expect(model.contains("nata"))
    #expect(model.lastError == nil)
  }

  @MainActor
  func follow(_ recipes: Favorites<Recipe>, report: (String) -> Void) async {
    for await notice in recipes.changes {
      switch notice {
      case .change(let change): report("\(change.event.item): \(change.event.action)")
      case .missed: report("too many changes at once: read the list again")
      }
    }
  }

  private final class Told: Sendable {
    let lines = Mutex<[String]>([])
  }

  @Test("a task is told what happens, in order, until the store is closed")
  func task() async throws {
    // Taps until the first is told, for nobody knows when the task begins to listen.
    let told = Told()
    try await withThrowingTaskGroup { group in
      group.addTask { await follow(recipes) { line in told.lines.withLock { $0.append(line) } } }
      while told.lines.withLock(\.isEmpty) {
        try await recipes.toggle(soup)
        // Other tests may keep the main actor for a while, and a reader that is behind by thousands misses some.
        try await Task.sleep(for: .milliseconds(20))
      }
      try await recipes.add(Recipe(id: "nata", title: "Pastel de nata"))
      try await recipes.setNote("vanilla", of: "nata")
      try store.close()
      try await group.waitForAll()
    }
    #expect(told.lines.withLock { $0 }.suffix(2) == ["nata: added", "nata: changed"])
  }

  @Test("the state of yesterday")
  func yesterday() throws {
    try recipes.add(soup)
    let yesterday = clock.now
    clock.advance(by: 86_400)
    try recipes.add(Recipe(id: "nata", title: "Pastel de nata"))
    let then = try store.state(at: .time(yesterday))
    print(then.favorites(in: "recipes").map(\.id))  // ["ribollita"]
    for item in try store.state().difference(from: then) {
      print(item.library, item.id, item.before.isFavorite, item.after.isFavorite, item.fields.map(\.name))
    }
    #expect(then.favorites(in: "recipes").map(\.id) == ["ribollita"])
    #expect(try store.state().difference(from: then).map(\.id) == ["nata"])

    let months = try recipes.library.statistics(by: .month).intervals
    #expect(months.map(\.favoritesAtEnd) == [2])

    #expect(try store.state().digest == store.digest)
  }

  @Test("an undo, its own undo, and yesterday again")
  func undo() throws {
    try recipes.add(soup)
    let yesterday = clock.now
    clock.advance(by: 86_400)
    try recipes.setNote("with bread", of: soup.id)
    let plan = try store.undo(.lastCommits(1))
    for write in plan.writes { print("restored: \(write.item)") }
    for kept in plan.kept { print("\(kept.item) was changed since, by \(kept.later.event)") }
    try store.undo(.events(plan.events))  // the undo of the undo
    try store.undo(.after(.time(yesterday), library: "recipes"))
    #expect(plan.writes.map(\.item) == ["ribollita"] && plan.kept.isEmpty)
    // Without the undo of the undo, the restore would have had nothing to write.
    #expect(try store.status().commits == 5)
    #expect(try recipes.note(of: soup.id) == nil && store.state(at: .time(yesterday)).digest == store.digest)
  }

  func tap(_ recipe: Recipe, in recipes: Favorites<Recipe>) async -> String? {
    do throws(HeartlogError) {
      try await recipes.toggle(recipe)
      return nil
    } catch {
      print(error)
      return [error.title, error.recoverySuggestion].compactMap(\.self).joined(separator: " ")
    }
  }

  @Test("an error becomes words for an alert")
  func alert() async {
    #expect(await tap(soup, in: recipes) == nil)
    #expect(await tap(Recipe(id: "", title: ""), in: recipes) == HeartlogError(.invalid, "").title)
  }
}
