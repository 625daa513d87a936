import Heartlog
import Observation
import Testing

@MainActor
@Suite("Undo in an app", .timeLimit(.minutes(5)))
struct UndoTests {
  @Test("the example of an undo stack")
  func example() async throws {
    let store = try FavoritesStore.inMemory()
    let recipes = try store.favorites(of: Recipe.self, in: "recipes")
    let soup = Recipe(id: "ribollita", title: "Ribollita")
    let model = FavoritesModel(recipes)
    try await recipes.add(soup)
    let since = recipes.favoritedDate(of: soup.id)

    let edits = UndoStack(store)
    try await edits.write("Delete Soup") { try recipes.remove(soup) }
    try await edits.undo()  // soup is a favorite again, since when it was
    model.undoStack = edits  // what it writes can be taken back, too

    #expect(recipes.favoritedDate(of: soup.id) == since && edits.redoName == "Delete Soup")
    model.toggle(soup)
    await model.finishWriting()
    #expect(edits.undoName != nil && edits.redoName == nil)
  }

  @Test("an undo manager has the names, and undoes and does again what it is told")
  func manager() async throws {
    let store = try FavoritesStore.inMemory()
    let recipes = try store.favorites(of: Recipe.self, in: "recipes")
    let edits = UndoStack(store)
    let manager = UndoManager()
    edits.register(with: manager)
    func wait(until condition: @escaping @MainActor @Sendable () -> Bool) async {
      for await isFulfilled in Observations({ condition() }) where isFulfilled { return }
    }
    for id in ["nata", "ribollita"] {
      try await edits.write("Add \(id)") { _ = try recipes.add(Recipe(id: id, title: id)) }
    }
    #expect(manager.undoActionName == "Add ribollita")
    manager.undo()
    manager.undo()
    #expect(manager.undoActionName == "" && manager.redoActionName == "Add nata")
    await wait { edits.undoName == nil }
    #expect(recipes.count == 0)
    manager.redo()
    await wait { edits.undoName == "Add nata" }
    #expect(recipes.ids == ["nata"] && manager.redoActionName == "Add ribollita")

    try store.close()
    manager.undo()
    await wait { edits.lastError != nil }
    #expect(edits.lastError?.code == .misuse && edits.undoName == "Add nata")
    #expect(
      manager.undoActionName == "" && manager.redoActionName == "", "it counted a step that was not made")
  }
}
