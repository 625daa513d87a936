import HeartlogTesting
import Observation
import TestSupport
import Testing

@testable import Heartlog

@MainActor
@Suite("A stack of undos", .timeLimit(.minutes(5)))
struct UndoStackTests {
  private let test = TestStore()

  @Test("undo restores what a write replaced, redo writes it again, and both have its name")
  func roundTrip() async throws {
    let store = try test.open()
    let records = try store.records
    try await records.add(Record(id: 1, title: "soup"))
    try await records.setNote("thick", of: 1)
    test.clock.now += 1_000
    let edits = UndoStack(store)
    #expect(edits.undoName == nil && edits.redoName == nil)
    for plan in [try await edits.undo(), try await edits.redo()] { #expect(plan == nil) }

    let removed = try await edits.write("Delete Soup") {
      try records.setNote(nil, of: 1)
      return try records.remove(1)
    }
    #expect(removed && edits.undoName == "Delete Soup" && records.count == 0)
    test.clock.now += 1_000
    let plan = try await edits.undo()
    #expect(plan?.writes.count == 2 && plan?.kept == [])
    #expect(
      records.favoritedDate(of: 1)?.milliseconds == test.clock.now - 2_000 && records.note(of: 1) == "thick")
    #expect(edits.undoName == nil && edits.redoName == "Delete Soup")
    try await edits.redo()
    #expect(!records.contains(1) && records.note(of: 1) == nil && edits.redoName == nil)

    try await edits.write("Nothing") { _ = try records.remove(1) }
    #expect(edits.undoName == "Delete Soup", "a write that changes nothing is no step")
    await #expect(throws: HeartlogError.self) {
      try await edits.write("Refused") {
        try records.add(2)
        throw HeartlogError(.invalid, "changed its mind")
      }
    }
    #expect(edits.undoName == "Delete Soup" && !records.contains(2))
  }

  @Test("several steps on one item come back one by one, and a new one ends what could be done again")
  func oneItem() async throws {
    let store = try test.open()
    let records = try store.records
    let edits = UndoStack(store)
    for title in ["a", "b", "c"] {
      try await edits.write(title) { try records.add(Record(id: 1, title: title)) }
    }
    func title() throws -> String? { try records.item(1)?.title }
    try await edits.undo()
    #expect(try title() == "b")
    try await edits.undo()
    #expect(try title() == "a" && edits.redoName == "b")
    try await edits.redo()
    #expect(try title() == "b" && edits.undoName == "b" && edits.redoName == "c")
    try await edits.write("d") { try records.add(Record(id: 1, title: "d")) }
    #expect(edits.redoName == nil)
    for expected in ["b", "a", nil] {
      try await edits.undo()
      #expect(try title() == expected)
    }
    #expect(edits.undoName == nil)
  }

  @Test("what others wrote later is left alone, and named")
  func others() async throws {
    let store = try test.open()
    let records = try store.records
    let edits = UndoStack(store)
    try await edits.write("Add") {
      try records.add(contentsOf: [Record(id: 1, title: "a"), Record(id: 2, title: "b")])
    }
    let widget = try test.open()
    try await widget.records.remove(1)
    let plan = try await edits.undo()
    #expect(plan?.kept.map(\.item) == ["1"] && !records.contains(1) && !records.contains(2))
    try await edits.redo()
    #expect(!records.contains(1) && records.contains(2))
  }

  @Test("calls that are not awaited take effect in their order")
  func inTurn() async throws {
    let store = try test.open()
    let records = try store.records
    let edits = UndoStack(store)
    let write = Task { try await edits.write("Add") { _ = try records.add(1) } }
    let undo = Task { try await edits.undo() }
    let redo = Task { try await edits.redo() }
    let undoAgain = Task { try await edits.undo() }
    try await write.value
    for call in [undo, redo, undoAgain] { #expect(try await call.value?.writes.count == 1) }
    #expect(!records.contains(1) && edits.redoName == "Add")
    edits.removeAll()
    #expect(edits.redoName == nil)
  }

  @Test("it remembers the last 100 writes")
  func limit() async throws {
    let store = try test.open()
    let records = try store.records
    let edits = UndoStack(store)
    for id in 1...103 { try await edits.write("\(id)") { _ = try records.add(id) } }
    var count = 0
    while try await edits.undo() != nil { count += 1 }
    #expect(count == 100 && Set(records.ids) == [1, 2, 3])
    while try await edits.redo() != nil {}
    #expect(records.count == 103)
  }

  @Test("content that was erased cannot be restored, and the stack says so once")
  func erased() async throws {
    let store = try test.open()
    let records = try store.records
    let edits = UndoStack(store)
    try await edits.write("Add") { try records.add(Record(id: 1, title: "secret")) }
    try store.erase("1", in: "records")
    await #expect(throws: HeartlogError.self) { try await edits.undo() }
    let plan = try await edits.undo()
    #expect(plan == nil && edits.undoName == nil)
  }

  @Test("a model's taps are steps, written with the time of the tap")
  func model() async throws {
    let store = try test.open()
    let records = try store.records
    let edits = UndoStack(store)
    let model = FavoritesModel(records)
    model.undoStack = edits
    model.toggle(Record(id: 1, title: "soup"))
    let time = test.clock.now
    test.clock.now += 5_000
    await model.finishWriting()
    #expect(edits.undoName == UndoStack.name(ofTapThatAdds: true))
    #expect(records.favoritedDate(of: 1)?.milliseconds == time)
    model.remove(1)
    await model.finishWriting()
    #expect(edits.undoName == UndoStack.name(ofTapThatAdds: false))
    try await edits.undo()
    for await items in Observations({ model.items.map(\.id) }) where items == [1] { break }

    model.undoStack = UndoStack(try .inMemory())
    model.remove(1)
    await model.finishWriting()
    #expect(model.lastError?.code == .misuse && records.contains(1))
  }

  @Test("undo and redo walk through the states that were there", arguments: 1...8 as ClosedRange<UInt64>)
  func walk(seed: UInt64) async throws {
    print("undo stack: seed \(seed)")
    var random = SeededGenerator(seed: seed)
    let store = try test.open()
    let records = try store.records
    let queue = try records.collection("queue")
    func shown() throws -> [String] {
      let items = try store.library("records").items().filter { $0.isFavorite || !$0.fields.isEmpty }
      return items.map { "\($0.id) \($0.favoritedDate ?? 0) \($0.fields)" }.sorted()
    }
    let edits = UndoStack(store)
    var states = [try shown()]
    var place = 0
    for step in 0..<80 {
      test.clock.now += Int64.random(in: 0...2, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let moved = try await edits.undo() != nil
        #expect(moved == (place > 0))
        if moved { place -= 1 }
      case 1:
        let moved = try await edits.redo() != nil
        #expect(moved == (place < states.count - 1))
        if moved { place += 1 }
      default:
        let id = Int.random(in: 0..<5, using: &random)
        let kind = Int.random(in: 0..<4, using: &random)
        try await edits.write("\(step)") {
          try records.toggle(Record(id: id, title: "\(step)"))
          if kind == 0 { try records.setNote("\(step)", of: 4 - id) }
          if kind == 1 { try queue.insert(id, at: 0) }
          if kind == 2 { try queue.remove(id) }
        }
        states.removeSubrange((place + 1)...)
        states.append(try shown())
        place += 1
      }
      try #require(try shown() == states[place], "step \(step)")
    }
  }
}
