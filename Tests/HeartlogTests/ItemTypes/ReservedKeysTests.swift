import Foundation
import Testing

@testable import Heartlog

@Suite("Keys with the names of the store's own values")
struct ReservedKeysTests {
  private let test = TestStore()

  struct Movie: Codable, Identifiable, Sendable, Equatable {
    enum CodingKeys: String, CodingKey {
      case raw = "id"
      case title
    }
    var raw: Int
    var title = "M"
    var id: String { "movie-\(raw)" }
  }

  @Test("a property under the key id that is not the item's id is a field")
  func otherID() throws {
    let movies = try test.open().favorites(of: Movie.self, in: "movies")
    try movies.add(Movie(raw: 42))
    #expect(try movies.item("movie-42") == Movie(raw: 42))
    #expect(movies.library.item("movie-42")?.value(of: "id") == .int64(42))
    let listed = try #require(movies.list().first)
    #expect(try !movies.toggle(listed))
    #expect(movies.library.items().map(\.id) == ["movie-42"])
  }

  struct Renamed: Codable, Identifiable, Sendable, Equatable {
    enum CodingKeys: String, CodingKey {
      case id = "_id"
      case number = "id"
      case year
    }
    var number: Int
    let id: Int
    var year: Int?
  }

  @Test("the key of the property id is the id, whatever its text, and other readers' items have it")
  func renamedID() throws {
    let renamed = try test.open().favorites(of: Renamed.self, in: "renamed")
    for number in [6, 7] {
      let item = Renamed(number: number, id: 7, year: 7)
      try renamed.add(item)
      #expect(try renamed.item(7) == item)
      #expect(renamed.library.item("7")?.value(of: "_id") == nil)
    }
    try renamed.library.add("8", fields: [Field(name: "id", value: .int64(1))])
    #expect(try renamed.item(8) == Renamed(number: 1, id: 8))
  }

  struct Text: Codable, Identifiable, Sendable, Equatable {
    enum CodingKeys: String, CodingKey { case raw = "id" }
    var raw: String
    var id: String { raw.lowercased() }
  }

  @Test("a value that becomes the item's id stops being a field, and one that looks like it stays one")
  func becomesID() throws {
    let texts = try test.open().favorites(of: Text.self, in: "texts")
    try texts.add("abc")
    for raw in ["ABC", "abc", "aBC"] {
      try texts.update(Text(raw: raw))
      #expect(try texts.item("abc") == Text(raw: raw))
      try texts.library.store.write {
        try texts.update(Text(raw: "Abc"))
        try texts.update(Text(raw: raw))
      }
      #expect(try texts.item("abc") == Text(raw: raw))
    }
  }

  struct Flags: Codable, Identifiable, Sendable, Equatable {
    let id: Int
    var isFavorite: String
    var favoritedDate: Int?
  }

  @Test("a flag and a date of other types are fields")
  func otherMembership() throws {
    let flags = try test.open().favorites(of: Flags.self, in: "flags")
    for item in [Flags(id: 1, isFavorite: "no", favoritedDate: 3), Flags(id: 1, isFavorite: "2026-01-01")] {
      try flags.add(item)
      #expect(try flags.item(1) == item)
      try flags.remove(1)
      #expect(try flags.item(1) == item)
    }
  }

  struct Dated: Codable, Identifiable, Sendable, Equatable {
    let id: Int
    var favoritedDate: String
    var isFavorite: Bool?
  }

  @Test("a date as text is a field, also where it looks like a date")
  func textDate() throws {
    let dated = try test.open().favorites(of: Dated.self, in: "dated")
    for text in ["yesterday", "2020-01-01T00:00:00.000Z"] {
      try dated.add(Dated(id: 1, favoritedDate: text))
      #expect(try dated.item(1) == Dated(id: 1, favoritedDate: text, isFavorite: true))
    }
  }

  @Test("a field of another type's does not change an item's id, flag or date, and stays")
  func foreignFields() throws {
    struct Plain: Codable, Identifiable, Sendable, Equatable {
      let id: String
      var title: String
      var isFavorite: Bool
      var favoritedDate: Date?
    }
    let store = try test.open()
    let plain = try store.favorites(of: Plain.self, in: "movies")
    let movies = try store.favorites(of: Movie.self, in: "movies")
    try movies.add(Movie(raw: 42))
    try plain.library.set(
      [
        Field(name: "isFavorite", value: .string("maybe")),
        Field(name: "favoritedDate", value: .string("2020-01-01T00:00:00.000Z")),
      ], of: "movie-42")
    var item = try #require(try plain.item("movie-42"))
    #expect(
      item.id == "movie-42" && item.isFavorite && item.favoritedDate == movies.favoritedDate(of: "movie-42"))
    item.title = "New"
    #expect(try plain.update(item))
    #expect(try movies.item("movie-42") == Movie(raw: 42, title: "New"))
  }

  struct Maybe: Codable, Identifiable, Sendable, Equatable {
    enum CodingKeys: String, CodingKey {
      case imported = "id"
      case title
    }
    var imported: String?
    var title: String
    var id: String { imported ?? title }
  }

  @Test("nil under the key of the id is refused, because it would be read back as the id")
  func nilID() throws {
    let items = try test.open().favorites(of: Maybe.self, in: "items")
    let error = #expect(throws: HeartlogError.self) { try items.add(Maybe(title: "T")) }
    #expect(error?.code == .invalidItem && error?.message.contains("field \"id\": nil") == true)
    try items.add(Maybe(imported: "x", title: "T"))
    #expect(try items.item("x") == Maybe(imported: "x", title: "T"))
  }

  #if DEBUG
    struct Lossy: Codable, Identifiable, Sendable {
      enum CodingKeys: CodingKey { case id, size }
      let id: String
      var size: Double
      init(id: String, size: Double) { (self.id, self.size) = (id, size) }
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        id = try container.decode(String.self, forKey: .id)
        size = try container.decode(Double.self, forKey: .size).rounded()
      }
    }

    @Test("the first write of a type that does not decode what it encodes names the field")
    func firstWrite() throws {
      let items = try test.open().favorites(of: Lossy.self, in: "items")
      DebugWarnings.$current.withValue(DebugWarnings { _ in }) {
        let error = #expect(throws: HeartlogError.self) { try items.add(Lossy(id: "a", size: 0.25)) }
        #expect(error?.message.contains("field \"size\"") == true)
        #expect(items.count == 0)
      }
    }
  #endif
}
