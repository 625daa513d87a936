import Foundation
import Testing

@testable import Heartlog

@Suite("Favorites of an app's own type")
struct FavoritesTests {
  private let test = TestStore()

  @Test("what was added is a favorite, lists newest first, and is the item that was given")
  func adding() throws {
    let records = try test.open().records
    let blue = Record(id: 1, title: "Kind of Blue", year: 1959, tags: ["jazz", "modal"])
    let train = Record(id: 2, title: "Blue Train")
    #expect(try records.add(blue))
    test.clock.now += 1_000
    #expect(try records.add(train))
    #expect(records.contains(1) && records.contains(2) && !records.contains(3))
    #expect(records.list() == [train, blue])
    #expect(records.list(order: .oldestFirst, limit: 1) == [blue])
    #expect(try records.item(1) == blue)
    #expect(records.count == 2)
    #expect(records.favoritedDate(of: 2) == Date(timeIntervalSince1970: 1_772_438_401))
  }

  @Test("adding what is a favorite already writes the fields that differ, and keeps the date")
  func addingTwice() throws {
    let store = try test.open()
    let records = try store.records
    try records.add(Record(id: 1, title: "first"))
    test.clock.now += 1_000
    #expect(try !records.add(Record(id: 1, title: "second")))
    #expect(try !records.add(Record(id: 1, title: "second")))
    #expect(try records.item(1)?.title == "second")
    #expect(records.favoritedDate(of: 1) == Date(timeIntervalSince1970: 1_772_438_400))
    #expect(try store.allCommits().count == 2)
  }

  @Test("the ids of the favorites are those of the list, without what was removed or only written to")
  func ids() throws {
    let records = try FavoritesStore.inMemory().records
    for id in 1...20 { try records.add(Record(id: id, title: "\(id)")) }
    for id in [3, 7] { try records.remove(id) }
    try records.update(Record(id: 99, title: "no favorite"))
    #expect(Set(records.ids) == Set(records.list().map(\.id)) && records.ids.count == 18)
  }

  @Test("fields of many items are read by the names that are asked for")
  func fieldsOfMany() throws {
    let store = try FavoritesStore.inMemory()
    let library = try store.library("records")
    try library.add(
      "1", fields: [Field(name: "title", value: .string("a")), Field(name: "year", value: .int64(1))])
    try library.set([Field(name: "year", value: .int64(2))], of: "2")
    var read: [String] = []
    store.read { state in
      state.forEachItem(["2", "none", "1"], in: "records", fields: ["year", "nothing", "title"]) {
        read.append("\($0) \($1) \($2)")
      }
    }
    let expected: [(Bool, [FieldValue])] = [
      (false, [.int64(2), .null, .null]), (false, [.null, .null, .null]),
      (true, [.int64(1), .null, .string("a")]),
    ]
    #expect(read == expected.enumerated().map { "\($0) \($1.0) \($1.1)" })
  }

  @Test("a date of whole milliseconds is taken as it is, on whichever side of them its double lies")
  func exactDates() throws {
    let records = try FavoritesStore.inMemory().records
    var id = 0
    for milliseconds: Milliseconds in [242_583_529_104, 7_275_788_818, 148_996_466_752, 1_709_294_400_123] {
      id += 1
      let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
      try records.add(Record(id: id, title: ""), since: date)
      #expect(records.favoritedDate(of: id) == date)
    }
  }

  @Test("a toggle flips what the store holds; on again has a new date and keeps the fields")
  func toggling() throws {
    let records = try test.open().records
    let record = Record(id: 7, title: "t")
    #expect(try records.toggle(record))
    test.clock.now += 5
    #expect(try !records.toggle(record))
    #expect(!records.contains(7) && records.list().isEmpty)
    #expect(try records.item(7) == record)
    test.clock.now += 5
    #expect(try records.toggle(record))
    #expect(records.favoritedDate(of: 7) == Date(timeIntervalSince1970: 1_772_438_400.010))
  }

  @Test("an item that was removed since the closure began is stored as it is toggled on")
  func togglingWhatIsRemoved() throws {
    let store = try test.open()
    let records = try store.records
    try records.add(Record(id: 7, title: "t"))
    let isFavorite = try store.write {
      try records.remove(7)
      return try records.toggle(Record(id: 7, title: "u"))
    }
    #expect(isFavorite && records.contains(7))
    #expect(try records.item(7)?.title == "u")
  }

  @Test("removing what is none is false and writes nothing")
  func removing() throws {
    let store = try test.open()
    let records = try store.records
    #expect(try !records.remove(1))
    #expect(try store.allCommits().isEmpty)
    try records.add(Record(id: 1, title: "t"))
    #expect(try records.remove(1))
    #expect(try !records.remove(1))
    #expect(try store.allCommits().count == 2)
  }

  @Test("an update writes only what differs, and clears what became nil")
  func updating() throws {
    let store = try test.open()
    let records = try store.records
    try records.add(Record(id: 1, title: "t", year: 1_999))
    #expect(try records.update(Record(id: 1, title: "t", year: nil)))
    #expect(try !records.update(Record(id: 1, title: "t", year: nil)))
    let change = try #require(try store.allCommits().last?.records.first?.event)
    #expect(change.action == .changed && change.fields == [Field(name: "year", value: .null)])
    #expect(try records.item(1) == Record(id: 1, title: "t"))
  }

  @Test("one item that is none never hides the others, and is named")
  func damagedItem() throws {
    let store = try test.open()
    let records = try store.records
    try records.add(Record(id: 1, title: "t"))
    try store.library("records").add("2", fields: [Field(name: "title", value: .int64(3))])
    let loaded = records.page()
    #expect(loaded.items == [Record(id: 1, title: "t")])
    #expect(loaded.failures.map(\.id) == ["2"])
    #expect(loaded.failures.first?.error.code == .invalidItem)
    #expect(throws: HeartlogError.self) { try records.item(2) }
  }

  @Test("names and values that break a rule are refused where they are given, and write nothing")
  func refusals() throws {
    let store = try test.open()
    for name in ["", "Papers", "a/b", String(repeating: "a", count: 65)] {
      #expect(throws: HeartlogError.self) { try store.library(name) }
    }
    let library = try store.library("papers")
    for id in ["", "a\u{0}b", "\u{85}", String(repeating: "x", count: 4_097)] {
      #expect(throws: HeartlogError.self, "\(id.debugDescription)") { try library.add(id) }
    }
    let long = FieldValue.string(String(repeating: "y", count: (1 << 20) + 1))
    #expect(throws: HeartlogError.self) { try library.add("a", fields: [Field(name: "f", value: long)]) }
    #expect(throws: HeartlogError.self) { try library.add("a", fields: [Field(name: "", value: .null)]) }
    #expect(throws: HeartlogError.self) { try library.add("a", favoritedDate: .max) }
    #expect(try store.allCommits().isEmpty)
  }

  private struct Square: Codable, Identifiable, Sendable, Equatable {
    struct ID: FavoriteID, Codable {
      var file: Int, rank: Int
      var favoriteID: String { "\(file)/\(rank)" }

      init(file: Int, rank: Int) { (self.file, self.rank) = (file, rank) }

      init?(favoriteID: String) {
        let parts = favoriteID.split(separator: "/").compactMap { Int($0) }
        guard parts.count == 2 else { return nil }
        self.init(file: parts[0], rank: parts[1])
      }
    }

    var id: ID
    var piece: String
  }

  @Test("an identity of an app's own is stored, listed and found again")
  func ownIdentity() throws {
    let store = try test.open()
    let squares = try store.favorites(of: Square.self, in: "squares")
    let queen = Square(id: .init(file: 4, rank: 1), piece: "queen")
    #expect(try squares.add(queen) && squares.contains(queen.id))
    #expect(!squares.contains(.init(file: 1, rank: 4)) && squares.ids == [queen.id])
    #expect(try squares.list() == [queen] && squares.item(queen.id) == queen)
    // In another process too.
    #expect(try test.open().favorites(of: Square.self, in: "squares").list() == [queen])
    #expect(try squares.query.collection("none").items() == [])
    #expect(try squares.remove(queen.id) && !squares.contains(queen.id))
  }

  @Test("a catalog gets the favorites' flags replaced by id, keeps its order, and orphans are told")
  func catalog() throws {
    let records = try test.open().records
    for id in [3, 1, 9] {
      test.clock.now += 1
      try records.add(Record(id: id, title: "old \(id)"))
    }
    let catalog = [
      (id: 1, isFavorite: false), (id: 2, isFavorite: true), (id: 3, isFavorite: true),
      (id: 1, isFavorite: false),
    ]
    let merge = records.merge(into: catalog, id: { $0.id }) { element, isFavorite, _ in
      element.isFavorite = isFavorite
    }
    #expect(merge.catalog.map(\.id) == [1, 2, 3, 1])
    #expect(merge.catalog.map(\.isFavorite) == [true, false, true, true])
    #expect(merge.orphans == [Record(id: 9, title: "old 9")])
  }
}
