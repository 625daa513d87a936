import Foundation
import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import HeartlogSync
import LibraryTestSupport
import TestSupport
import Testing

/// Item types drawn at random: which keys they have, of which types, and where their ids come from.
@Suite("items of random types")
struct GeneratedItemsTests {
  @Test(
    "come back from memory, the log, a snapshot, a file and another device as they were, or are refused",
    arguments: 1...60 as ClosedRange<UInt64>)
  func roundTrips(seed: UInt64) throws {
    var chance = SeededGenerator(seed: seed)
    let shape = Shape(&chance)
    try Shape.$current.withValue(shape) {
      switch seed % 4 {
      case 0: try check(Shaped<String>.self, seed, &chance)
      case 1: try check(Shaped<Int>.self, seed, &chance)
      case 2: try check(Shaped<UUID>.self, seed, &chance)
      default: try check(Shaped<Pair>.self, seed, &chance)
      }
    }
  }

  private func check<ID: Drawn & FavoriteID>(
    _ type: Shaped<ID>.Type, _ seed: UInt64, _ chance: inout SeededGenerator
  ) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "items-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let store = try FavoritesStore(at: folder.path)
    let favorites = try store.favorites(of: type, in: "shaped")
    // By bytes, as the store compares ids.
    var written: [[UInt8]: Shaped<ID>] = [:]
    for _ in 0..<12 {
      let item = Shaped<ID>(&chance)
      do {
        if Bool.random(using: &chance) { try favorites.add(item) } else { try favorites.update(item) }
        written[Array(item.id.favoriteID.utf8)] = item
      } catch {
        // Only what the store could not tell from its own id.
        #expect(error.message.contains("nil cannot be stored"), "seed \(seed): \(error)")
      }
      // In an order that is the same in each run of a seed.
      let ids = written.keys.sorted { $0.lexicographicallyPrecedes($1) }
      if let id = ids.randomElement(using: &chance), let other = written[id] {
        let new = Shaped<ID>(&chance).with(other.own)
        if (try? favorites.update(new)) != nil { written[Array(new.id.favoriteID.utf8)] = new }
      }
    }
    #expect(!written.isEmpty, "seed \(seed)")

    func expectWritten(_ favorites: Favorites<Shaped<ID>>, _ place: String) throws {
      for (bytes, item) in written {
        let id = String(decoding: bytes, as: UTF8.self)
        let identity = try #require(ID(favoriteID: id))
        let read = try favorites.item(identity)
        let date = favorites.favoritedDate(of: identity)
        #expect(
          read == item.asStored(isFavorite: date != nil, date), "seed \(seed), \(place): \(Shape.current)")
        #expect(read.map { $0.id.favoriteID } == id, "seed \(seed), \(place)")
      }
      let count = favorites.library.items().count
      for item in favorites.list() { try favorites.update(item) }
      #expect(favorites.library.items().count == count, "seed \(seed), \(place)")
      #expect(favorites.failures.isEmpty, "seed \(seed), \(place)")
    }
    try expectWritten(favorites, "memory")
    let events = favorites.library.counts.events

    let jsonl = try favorites.library.exportFile(format: JSONLinesFormat())
    let imported = try FavoritesStore.inMemory().favorites(of: type, in: "shaped")
    let report = try imported.library.importFile(jsonl, format: JSONLinesFormat())
    #expect(report.refusals.isEmpty, "seed \(seed): \(refusals(report))")
    try expectWritten(imported, "file")

    let tablet = try FavoritesStore.inMemory()
    _ = try store.sync(with: StoreCarrier(tablet))
    try expectWritten(try tablet.favorites(of: type, in: "shaped"), "sync")

    try store.close()
    let log = try FavoritesStore(at: folder.path)
    try expectWritten(try log.favorites(of: type, in: "shaped"), "log")
    _ = try log.snapshot()
    try log.close()
    let snapshot = try FavoritesStore(at: folder.path)
    try expectWritten(try snapshot.favorites(of: type, in: "shaped"), "snapshot")
    #expect(try snapshot.library("shaped").counts.events == events, "seed \(seed)")
    try snapshot.close()
  }
}

/// A value that is drawn at random.
private protocol Drawn: Codable, Hashable, Sendable {
  init(_ chance: inout SeededGenerator)
}

/// The properties of a type.
private struct Shape: Sendable, CustomStringConvertible {
  @TaskLocal static var current = Shape()

  /// Whether the type encodes its id under the key "id". If not, the id is made of what is not encoded under it.
  private(set) var encodesID = true
  private(set) var properties: [(key: String, type: any Drawn.Type, isOptional: Bool)] = []

  private static let types: [any Drawn.Type] = [
    String.self, Int.self, Double.self, Bool.self, Date.self, URL.self, UUID.self, Pair.self, Choice.self,
    Part.self, [String].self, [[Part]].self, [Choice].self,
  ]
  private static let keys = [
    "id", "_id", "isFavorite", "favoritedDate", "note", "tags", "super", "fields", "key", "in/list", "ä",
    "own",
  ]

  private init() {}

  init(_ chance: inout SeededGenerator) {
    encodesID = Bool.random(using: &chance)
    for key in Self.keys.filter({ $0 != "own" }) where Bool.random(using: &chance) {
      if key == "id", encodesID { continue }
      properties.append(
        (
          key, Self.types.randomElement(using: &chance) ?? String.self,
          Int.random(in: 0..<3, using: &chance) == 0
        ))
    }
  }

  var description: String { "encodesID \(encodesID) \(properties)" }
}

private struct Key: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }
  init(_ text: String) { stringValue = text }
  init?(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

/// An item whose coding is that of a shape.
private struct Shaped<ID: Drawn & FavoriteID>: Codable, Identifiable, Sendable, Equatable,
  CustomStringConvertible
{
  /// What the id is made of.
  var own: ID
  var values: [String: AnyDrawn] = [:]

  var id: ID { own }

  init(_ chance: inout SeededGenerator) {
    own = ID(&chance)
    for property in Shape.current.properties {
      if property.isOptional, Bool.random(using: &chance) { continue }
      values[property.key] = AnyDrawn(property.type.init(&chance))
    }
    // Sometimes a value that is the id, or looks like it.
    let key = Shape.current.encodesID ? "_id" : "id"
    guard let property = Shape.current.properties.first(where: { $0.key == key }) else { return }
    if property.type == ID.self, Bool.random(using: &chance) { values[key] = AnyDrawn(own) }
    if property.type == String.self, Bool.random(using: &chance) { values[key] = AnyDrawn(own.favoriteID) }
  }

  func with(_ own: ID) -> Shaped {
    var item = self
    item.own = own
    return item
  }

  /// The item as the store has it: with its membership, and with dates of whole milliseconds.
  func asStored(isFavorite: Bool, _ date: Date?) -> Shaped {
    var item = self
    for property in Shape.current.properties {
      if property.key == "isFavorite", property.type == Bool.self {
        item.values[property.key] = AnyDrawn(isFavorite)
      }
      if property.key == "favoritedDate", property.type == Date.self {
        item.values[property.key] = date.map { AnyDrawn($0) }
      }
    }
    return item
  }

  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    own = try container.decode(ID.self, forKey: Key(Shape.current.encodesID ? "id" : "own"))
    for property in Shape.current.properties {
      func decode<T: Drawn>(_ type: T.Type) throws -> AnyDrawn? {
        // The date of an item that is no favorite is absent.
        let isOptional = property.isOptional || property.key == "favoritedDate"
        if isOptional {
          return try container.decodeIfPresent(type, forKey: Key(property.key)).map { AnyDrawn($0) }
        }
        return AnyDrawn(try container.decode(type, forKey: Key(property.key)))
      }
      values[property.key] = try decode(property.type)
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(own, forKey: Key(Shape.current.encodesID ? "id" : "own"))
    for property in Shape.current.properties {
      func encode<T: Drawn>(_ type: T.Type) throws {
        try container.encodeIfPresent(values[property.key]?.value as? T, forKey: Key(property.key))
      }
      try encode(property.type)
    }
  }

  var description: String { "\(own) \(values.sorted { $0.key < $1.key })" }
}

private struct AnyDrawn: Equatable, Sendable, CustomStringConvertible {
  let value: any Drawn
  init(_ value: any Drawn) { self.value = value }

  static func == (a: AnyDrawn, b: AnyDrawn) -> Bool {
    func same<T: Drawn>(_ a: T) -> Bool { a == b.value as? T }
    return same(a.value)
  }

  var description: String { "\(value)" }
}

/// An id of two parts.
private struct Pair: Drawn, FavoriteID {
  var left: Int
  var right: String

  init(_ chance: inout SeededGenerator) {
    (left, right) = (Int(&chance), ["x", "y"].randomElement(using: &chance) ?? "")
  }

  var favoriteID: String { "\(left)/\(right)" }

  init?(favoriteID: String) {
    let parts = favoriteID.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let left = Int(favoriteID: String(parts[0])) else { return nil }
    (self.left, right) = (left, String(parts[1]))
  }
}

private enum Choice: Drawn {
  case none
  case text(String)
  case both(first: Date, second: [Part?])

  init(_ chance: inout SeededGenerator) {
    switch Int.random(in: 0..<3, using: &chance) {
    case 0: self = .none
    case 1: self = .text(String(&chance))
    default: self = .both(first: Date(&chance), second: [nil, Part(&chance)])
    }
  }
}

private struct Part: Drawn {
  var id: Int
  var isFavorite: String?
  var link: URL
  var table: [String: Int]

  init(_ chance: inout SeededGenerator) {
    id = Int(&chance)
    isFavorite = Bool.random(using: &chance) ? nil : String(&chance)
    link = URL(&chance)
    table = [String(&chance): id]
  }
}

extension String: Drawn {
  fileprivate init(_ chance: inout SeededGenerator) {
    self =
      ["a", "é", "e\u{301}", "7", "2020-01-01T00:00:00.000Z", "true", "x/y", "{}", "🐕"].randomElement(
        using: &chance)
      ?? ""
  }
}

extension Int: Drawn {
  fileprivate init(_ chance: inout SeededGenerator) { self = Int.random(in: -3...9, using: &chance) }
}

extension Double: Drawn {
  fileprivate init(_ chance: inout SeededGenerator) {
    self = Double(Int.random(in: -9...9, using: &chance)) / 4
  }
}

extension Bool: Drawn {
  fileprivate init(_ chance: inout SeededGenerator) { self = Bool.random(using: &chance) }
}

extension Date: Drawn {
  fileprivate init(_ chance: inout SeededGenerator) {
    self.init(timeIntervalSince1970: Double(Int.random(in: 0..<9_000_000, using: &chance)) / 1_000)
  }
}

extension URL: Drawn {
  fileprivate init(_ chance: inout SeededGenerator) {
    self.init(filePath: "/files/\(Int.random(in: 0..<9, using: &chance))")
  }
}

extension UUID: Drawn {
  fileprivate init(_ chance: inout SeededGenerator) {
    let byte = UInt8.random(in: 0...9, using: &chance)
    self.init(uuid: (byte, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))
  }
}

extension Array: Drawn where Element: Drawn {
  fileprivate init(_ chance: inout SeededGenerator) {
    self = (0..<Int.random(in: 0..<3, using: &chance)).map { _ in Element(&chance) }
  }
}
