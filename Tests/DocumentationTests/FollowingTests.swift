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
    print(model.items.map(\.title), model.contains("nata"))  // ["Pastel de nata"] true
    print(model.lastError as Any)  // nil: why the last tap came to nothing, for an alert
    #expect(model.items.map(\.title) == ["Pastel de nata"])
    #expect(model.contains("nata"))
    #expect(model.lastError == nil)
  }

  @MainActor
  func follow(_ recipes: Favorites<Recipe>, tell: (String) -> Void) async {
    for await notice in recipes.changes {
      switch notice {
      case .change(let change):
        switch change.event.action.isFavorite {
        case true?: tell("♥ \(change.event.item)")
        case false?: tell("♡ \(change.event.item)")
        case nil: tell("· \(change.event.item)")
        }
      case .missed: tell("too much at once: read the list anew")
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
        try recipes.toggle(soup)
        await Task.yield()
      }
      try recipes.add(Recipe(id: "nata", title: "Pastel de nata"))
      try recipes.setNote("vanilla", of: "nata")
      try store.close()
      try await group.waitForAll()
    }
    #expect(told.lines.withLock { $0 }.suffix(2) == ["♥ nata", "· nata"])
  }

  @Test("the state of yesterday")
  func yesterday() throws {
    try recipes.add(soup)
    let yesterday = clock.now
    clock.advance(by: 86_400)
    try recipes.add(Recipe(id: "nata", title: "Pastel de nata"))
    let then = try store.state(at: .time(yesterday))
    print(then.favorites(in: "recipes").map(\.id))  // ["ribollita"]
    print(then.counts(of: "recipes").favorites)  // 1
    #expect(then.favorites(in: "recipes").map(\.id) == ["ribollita"])

    for item in try store.state().difference(from: then) {
      print(item.library, item.id, item.before.isFavorite, item.after.isFavorite, item.fields.map(\.name))
    }
    #expect(try store.state().difference(from: then).map(\.id) == ["nata"])

    let months = try recipes.library.statistics(by: .month).intervals
    for month in months { print(month.start, month.favorited, month.unfavorited, month.favoritesAtEnd) }
    #expect(months.map(\.favoritesAtEnd) == [2])

    print(try store.state().digest == store.digest)  // true
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
    #expect(plan.writes.map(\.item) == ["ribollita"] && plan.kept.isEmpty)
    #expect(recipes.note(of: soup.id) == "with bread")

    try store.restore(to: .time(yesterday), library: "recipes")
    #expect(try recipes.note(of: soup.id) == nil && store.state(at: .time(yesterday)).digest == store.digest)
  }

  func story(of id: String, in library: String, store: FavoritesStore) throws -> [String] {
    var lines: [String] = []
    let log = try store.readLog()
    while let commit = try log.next() {
      for event in commit.records.compactMap(\.event) where event.library == library && event.item == id {
        lines.append("\(Date(timeIntervalSince1970: Double(commit.wallTime) / 1_000)) \(event.action)")
      }
    }
    return lines
  }

  @Test("the story of one item")
  func story() throws {
    try recipes.add(soup)
    try recipes.add(Recipe(id: "nata", title: "Pastel de nata"))
    try recipes.remove(soup)
    let lines = try story(of: "ribollita", in: "recipes", store: store)
    #expect(lines.map { $0.hasPrefix("2026-01-01") } == [true, true])
    #expect(lines.last?.hasSuffix("removed") == true)
  }

  func tap(_ recipe: Recipe, in recipes: Favorites<Recipe>) async -> String? {
    do throws(HeartlogError) {
      try await recipes.async.toggle(recipe)
      return nil
    } catch {
      switch error.code {
      case .diskFull: return "There is no room left on this device."
      case .locked: return "Another app is busy with your favorites. Try again."
      default: return error.description
      }
    }
  }

  @Test("an error becomes words for an alert")
  func alert() async {
    #expect(await tap(soup, in: recipes) == nil)
    #expect(await tap(Recipe(id: "", title: ""), in: recipes)?.contains("item id") == true)
  }
}
