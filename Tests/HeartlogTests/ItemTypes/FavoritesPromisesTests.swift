import Foundation
import Testing

@testable import Heartlog

/// One test for each sentence of the documentation of `Favorites` and `FavoritesLibrary` that promises what a write does.
@Suite("What the documentation of the writes promises")
struct FavoritesPromisesTests {
  private let test = TestStore()

  struct Tape: FavoriteItem, Equatable {
    static let library = "tapes"
    static var localFields: Set<String> { ["path"] }
    let id: UUID
    var title: String
    var tags: [String] = []
    var path: String?
  }

  private let id = UUID()

  private func tape(_ title: String, tags: [String] = [], path: String? = nil) -> Tape {
    Tape(id: id, title: title, tags: tags, path: path)
  }

  private func expectError(_ code: HeartlogError.Code, _ body: () throws -> Void) {
    let error = #expect(throws: HeartlogError.self) { try body() }
    #expect(error?.code == code)
  }

  private func open() throws -> Favorites<Tape> { try test.open().favorites(of: Tape.self) }

  @Test("a store for a preview has its favorites, the newest last")
  func preview() throws {
    let tapes = ["A", "B"].map { Tape(id: UUID(), title: $0) }
    let store = try FavoritesStore.inMemory(containing: tapes)
    #expect(try store.favorites(of: Tape.self).list() == tapes.reversed())
    expectError(.invalidItem) {
      _ = try FavoritesStore.inMemory(containing: [
        Tape(id: UUID(), title: "A", tags: [String](repeating: "x", count: 1 << 21))
      ])
    }
  }

  @Test("add of a favorite writes the fields that differ, the local ones too, and keeps the date")
  func addAgain() throws {
    let tapes = try open()
    #expect(try tapes.add(tape("A", path: "/a"), since: Date(timeIntervalSince1970: 1)))
    let events = tapes.library.counts.events
    #expect(try !tapes.add(tape("A", path: "/a")))
    #expect(tapes.library.counts.events == events)
    #expect(try !tapes.add(tape("B", path: "/b"), since: Date(timeIntervalSince1970: 2)))
    #expect(try tapes.item(id) == tape("B", path: "/b"))
    #expect(tapes.favoritedDate(of: id) == Date(timeIntervalSince1970: 1))
    #expect(tapes.library.counts.events == events + 1)
    #expect(try tapes.add(contentsOf: [tape("C", path: "/c")]) == 0)
    #expect(try tapes.item(id) == tape("C", path: "/c"))
  }

  @Test("add and toggle of an id write no fields")
  func byID() throws {
    let tapes = try open()
    try tapes.update(tape("A", tags: ["x"], path: "/a"))
    #expect(try tapes.add(id, since: Date(timeIntervalSince1970: 1)))
    #expect(try !tapes.add(id, since: Date(timeIntervalSince1970: 2)))
    #expect(tapes.favoritedDate(of: id) == Date(timeIntervalSince1970: 1))
    #expect(try !tapes.toggle(id))
    #expect(try tapes.toggle(id))
    #expect(try tapes.item(id) == tape("A", tags: ["x"], path: "/a"))
    let other = UUID()
    #expect(try tapes.toggle(other))
    #expect(tapes.contains(other) && tapes.library.item(other.favoriteID)?.fields.isEmpty == true)
  }

  @Test("an update by a closure changes what is there now")
  func updateNow() throws {
    let tapes = try open()
    try tapes.add(tape("A"))
    let stale = try #require(try tapes.item(id))
    try tapes.update(tape("B"))
    #expect(try tapes.update(stale.id) { $0.tags.append("y") })
    #expect(try tapes.item(id) == tape("B", tags: ["y"]))
    #expect(try !tapes.update(id) { _ in })
    try tapes.remove(id)
    #expect(try tapes.update(id) { $0.path = "/p" } && !tapes.contains(id))
    expectError(.notFound) { _ = try tapes.update(UUID()) { $0.title = "" } }
    expectError(.invalid) { _ = try tapes.update(id) { $0 = Tape(id: UUID(), title: "") } }
    struct Stopped: Error {}
    #expect(throws: Stopped.self) {
      try tapes.update(id) { tape in
        tape.title = "never"
        throw Stopped()
      }
    }
    #expect(try tapes.item(id)?.title == "B")
  }

  @Test("the writes of a task do the same")
  func tasks() async throws {
    let tapes = try open()
    try await tapes.add(tape("A"))
    #expect(try await tapes.update(id) { $0.tags.append("y") })
    #expect(try await !tapes.toggle(id))
    #expect(try await tapes.add(id))
    #expect(try tapes.item(id) == tape("A", tags: ["y"]))
  }

  @Test("toggle goes by what is stored, and writes fields only where the item becomes a favorite")
  func toggle() throws {
    let tapes = try open()
    #expect(try tapes.toggle(tape("A", path: "/a")))
    #expect(try !tapes.toggle(tape("B", path: "/b")))
    #expect(try tapes.item(id) == tape("A", path: "/a"))
    #expect(try tapes.toggle(tape("C", path: "/c")))
    #expect(try tapes.item(id) == tape("C", path: "/c"))
  }

  @Test("remove keeps the fields, uses the id alone, and writes nothing for what is no favorite")
  func remove() throws {
    let tapes = try open()
    try tapes.add(tape("A"))
    #expect(try tapes.remove(tape("B")))
    let events = tapes.library.counts.events
    #expect(try !tapes.remove(id))
    #expect(try tapes.item(id) == tape("A") && tapes.library.counts.events == events)
  }

  @Test("add of a library leaves a favorite as it is, and says so")
  func untypedAdd() throws {
    let library = try test.open().library("tapes")
    let title = { (text: String) in [Field(name: "title", value: .string(text))] }
    #expect(try library.add("a", fields: title("A"), favoritedDate: 1))
    let again = try library.perform(.add(fields: title("B"), favoritedDate: 2), on: "a")
    #expect(!again.isChange && again.ignoredFields && again.ignoredFavoritedDate)
    #expect(library.item("a")?.value(of: "title") == .string("A"))
    #expect(library.item("a")?.favoritedDate == 1)
  }

  @Test("a text that is not written as the ids of the type are is refused by everything that takes one")
  func wrongForm() throws {
    let tapes = try open()
    try tapes.add(tape("A"))
    let queue = try tapes.library.collection("Queue")
    expectError(.invalid) { _ = try queue.insert(id.uuidString) }
    #expect(queue.ids.isEmpty)
    expectError(.invalid) { _ = try queue.remove(id.uuidString) }
    expectError(.invalid) { _ = try tapes.library.setNote("n", of: id.uuidString) }
    expectError(.invalid) { _ = try tapes.library.add("tape") }
    #expect(try queue.insert(id.favoriteID))
    #expect(try tapes.query.collection("Queue").items() == [tape("A")])
    // Untyped access does not know the type.
    #expect(try test.open().library("other").add("tape"))
  }

  @Test("the commit that a caller made is undone by itself")
  func undoCommit() throws {
    let tapes = try open()
    let store = tapes.library.store
    try tapes.add(tape("A"))
    let removal = try #require(try store.commit { try tapes.remove(id) }.commit)
    try tapes.update(id) { $0.tags = ["later"] }
    try store.undo(.commit(removal.replica, removal.number))
    #expect(tapes.contains(id))
    #expect(try tapes.item(id)?.tags == ["later"])
    expectError(.notFound) {
      _ = try store.undo(.commit(removal.replica, CommitNumber(rawValue: 99)))
    }
  }

  @Test("values print readably, and a debugger shows no storage")
  func descriptions() throws {
    let tapes = try open()
    try tapes.add(tape("A", tags: ["x"]))
    let fields = try #require(tapes.library.item(id.favoriteID)?.fields)
    #expect("\(fields)" == #"[tags: ["x"], title: "A"]"#)
    #expect(String(reflecting: fields) == "\(fields)")
    #expect(Mirror(reflecting: fields).children.map(\.label) == ["tags", "title"])
    #expect("\(tapes)" == "favorites of Tape in tapes" && "\(tapes.library)" == "library tapes")
  }
}
