import Foundation
import Testing

@testable import Heartlog

/// One test for each sentence of the documentation of `Favorites` and `FavoritesLibrary` that promises what a read returns, and that no other
/// test shows.
@Suite("What the documentation of the reads promises")
struct ReadingPromisesTests {
  private let test = TestStore()
  private let store: FavoritesStore
  private let records: Favorites<Record>
  private var library: FavoritesLibrary { records.library }

  init() throws {
    store = try test.open()
    records = try store.records
  }

  private func add(_ ids: Int...) throws {
    for id in ids {
      test.clock.now += 1
      try records.add(Record(id: id, title: "\(id)"))
    }
  }

  /// A favorite that is no `Record`.
  private func addUnreadable(_ id: String) throws {
    test.clock.now += 1
    try store.library("records").add(id, fields: [Field(name: "title", value: .int64(1))])
  }

  private func expectError(_ code: HeartlogError.Code, _ body: () throws -> Void) {
    let error = #expect(throws: HeartlogError.self) { try body() }
    #expect(error?.code == code)
  }

  @Test("inside a write, look-ups and lists of a library see the closure's changes, and the numbers do not")
  func insideAWrite() throws {
    try add(1, 2)
    let before = library.counts
    let inside = try store.write {
      try records.add(Record(id: 3, title: "3"))
      try records.add(Record(id: 4, title: "4"))
      try records.remove(1)
      #expect(records.contains(3) && !records.contains(1) && !library.contains("1"))
      #expect(try records.item(3)?.title == "3" && library.item("3")?.isFavorite == true)
      #expect(records.favoritedDate(of: 3) != nil && records.favoritedDate(of: 1) == nil)
      #expect(Set(library.items().map(\.id)) == ["1", "2", "3", "4"])
      #expect(library.counts == before && records.count == 2)
      return ListOrder.allCases.map { library.favorites(order: $0).map(\.id) }
        + [library.favorites(limit: 2).map(\.id), library.favorites(limit: -1).map(\.id)]
    }
    let after =
      ListOrder.allCases.map { library.favorites(order: $0).map(\.id) }
      + [library.favorites(limit: 2).map(\.id), library.favorites(limit: -1).map(\.id)]
    #expect(inside == after && records.count == 3)
  }

  @Test("of two favorites of the same millisecond, the one that was written last is the newer one")
  func ties() throws {
    for id in [5, 3, 4] { try records.add(Record(id: id, title: "")) }
    #expect(records.list().map(\.id) == [4, 3, 5] && library.favorites().map(\.id) == ["4", "3", "5"])
    #expect(records.list(order: .oldestFirst).map(\.id) == [5, 3, 4])
  }

  @Test(
    "all items are the favorites, newest first, then by id what has a value or once was a favorite")
  func all() throws {
    try add(1, 2, 3)
    try records.remove(3)
    try records.update(Record(id: 0, title: "never a favorite"))
    try library.add("8")
    try library.remove("8")
    #expect(library.all().map(\.id) == ["2", "1", "0", "3", "8"])
    #expect(Set(library.items().map(\.id)) == ["0", "1", "2", "3", "8"])
    #expect(library.item("8")?.isFavorite == false && library.item("9") == nil)
    #expect(try records.item(8) == nil && records.item(3)?.title == "3")
    // Also of a type with fields that stay on the device.
    let tapes = try store.favorites(of: FavoritesPromisesTests.Tape.self)
    try tapes.add(UUID())
    try tapes.remove(contentsOf: tapes.ids)
    #expect(tapes.library.all().map(\.isTombstone) == [true])
  }

  @Test("the number of favorites includes those that cannot be read, and the ids those whose fields cannot")
  func counting() throws {
    try add(1)
    try addUnreadable("2")
    try addUnreadable("no number")
    #expect(records.count == 3 && Set(records.ids) == [1, 2])
    #expect(records.failures.map(\.id) == ["no number", "2"])
    expectError(.invalidItem) { _ = try records.item(2) }
    // A favorite without fields is not one that was never stored.
    try library.add("7")
    expectError(.invalidItem) { _ = try records.item(7) }
  }

  @Test("with a limit, what cannot be read does not count, and what follows the last item is not read")
  func limits() throws {
    try addUnreadable("1")
    try add(2, 3)
    try addUnreadable("4")
    let page = records.page(limit: 2)
    #expect(page.items.map(\.id) == [3, 2] && page.failures.map(\.id) == ["4"])
    #expect(page.failures.allSatisfy { $0.error.code == .invalidItem && "\($0.error)".contains("title") })
    #expect(records.list(limit: 9).map(\.id) == [3, 2] && records.list(limit: 0) == [])
  }

  @Test("a favorited date is in whole milliseconds, and that of no other item")
  func dates() throws {
    try records.add(Record(id: 1, title: ""), since: Date(timeIntervalSince1970: -0.0015))
    #expect(records.favoritedDate(of: 1) == Date(timeIntervalSince1970: -0.002))
    try records.remove(1)
    #expect(records.favoritedDate(of: 1) == nil && records.favoritedDate(of: 2) == nil)
  }

  @Test("a merge sets the date with the flag, writes nothing, and leaves orphans out that cannot be read")
  func merge() throws {
    try add(1, 2, 3)
    try addUnreadable("4")
    let commits = store.read(\.commitCount)
    let merged = records.merge(into: [(id: 1, date: Date?.some(.now)), (id: 9, date: .now)], id: \.id) {
      element, isFavorite, date in
      #expect(isFavorite == (date != nil))
      element.date = date
    }
    #expect(merged.catalog.map(\.date) == [records.favoritedDate(of: 1), nil])
    #expect(merged.orphans.map(\.id) == [3, 2] && store.read(\.commitCount) == commits)
  }

  @Test("a collection has favorites and others in its order, without those that are no items")
  func collections() throws {
    try add(1)
    try records.update(Record(id: 2, title: "2"))
    try addUnreadable("3")
    for id in ["2", "4", "3", "1"] { try library.collection("Queue").insert(id) }
    #expect(try library.collection("Queue").ids == ["2", "4", "3", "1"])
    #expect(try records.query.collection("Queue").items().map(\.id) == [2, 1])
    expectError(.invalid) { _ = try records.query.collection("").items() }
  }

  @Test("a library has a name by the rules")
  func names() throws {
    expectError(.invalid) { _ = try store.library("Records") }
    expectError(.invalid) { _ = try store.favorites(of: Record.self, in: String(repeating: "a", count: 65)) }
  }
}
