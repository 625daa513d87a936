import Testing

@testable import Heartlog

@Suite("Schemas")
struct FieldLineageTests {
  typealias Step = ItemSchema.Step

  static func text(_ old: String, _ new: [String], since: Int) -> Step {
    .split(
      old, into: new, since: since, forward: { (text: String) in new.map { _ in text } },
      backward: { (texts: [String?]) in texts.first ?? nil })
  }

  @Test(
    "a schema that breaks a rule is refused with the reason",
    arguments: [
      (ItemSchema(version: 0), "version 0"),
      (ItemSchema(version: 1, [.dropped("a", since: 2)]), "the version is only 1"),
      (ItemSchema(version: 2, [.dropped("a", since: 1)]), "must be 2 or later"),
      (ItemSchema(version: 3, [.dropped("a", since: 3), .dropped("b", since: 2)]), "must be 3 or later"),
      (ItemSchema(version: 2, [.renamed("a", to: "a", since: 2)]), "must be unused"),
      (
        ItemSchema(version: 3, [.renamed("a", to: "b", since: 2), .renamed("b", to: "a", since: 3)]), "unused"
      ),
      (
        ItemSchema(version: 3, [.dropped("a", since: 2), .renamed("b", to: "a", since: 3)]), "must be unused"
      ),
      (ItemSchema(version: 3, [.renamed("a", to: "b", since: 2), .dropped("a", since: 3)]), "second step"),
      (ItemSchema(version: 2, [.renamed("a", to: "b", since: 2), .dropped("b", since: 2)]), "two steps"),
      (ItemSchema(version: 2, [text("a", ["b", "b"], since: 2)]), "must be unused"),
      (ItemSchema(version: 2, [text("a", [], since: 2)]), "at least two"),
      (ItemSchema(version: 2, [text("a", ["b"], since: 2)]), "at least two"),
      (ItemSchema(version: 2, [.renamed("@a", to: "b", since: 2)]), "reserved"),
      (ItemSchema(version: 2, [.renamed("a", to: "isFavorite", since: 2)]), "reserved"),
      (ItemSchema(version: 2, [.renamed("", to: "b", since: 2)]), "field name"),
    ] as [(ItemSchema, String)])
  func refused(schema: ItemSchema, reason: String) throws {
    let error = #expect(throws: MalformedError.self) { try FieldLineage(schema) }
    #expect(error?.reason.contains(reason) == true, "\(error?.reason ?? "")")
  }

  @Test("favorites of a type with such a schema are refused, with the type in the message")
  func refusedByStore() throws {
    struct Odd: FavoriteItem {
      static let library = "odd"
      static let schema = ItemSchema(version: 1, [.dropped("a", since: 2)])
      var id: String
    }
    let store = try FavoritesStore.inMemory()
    let error = #expect(throws: HeartlogError.self) { try store.favorites(of: Odd.self) }
    #expect(error?.code == .invalid)
    #expect(error?.message.hasPrefix("the schema of Odd: ") == true)
  }

  private static func write(_ value: FieldValue, _ stamp: UInt64) -> FieldLineage.Write {
    FieldLineage.Write(
      position: EventPosition(
        stamp: HybridTimestamp(rawValue: stamp), replica: ReplicaID(high: 1, low: 1),
        sequence: SequenceNumber(rawValue: 1)), value: value)
  }

  /// Version 4: name, split into first and last, of which last was renamed to surname, and first dropped.
  private static func long() throws -> FieldLineage {
    try FieldLineage(
      ItemSchema(
        version: 5,
        [
          .renamed("n", to: "name", since: 2),
          .split(
            "name", into: ["first", "last"], since: 3,
            forward: { (name: String) in name.split(separator: " ").map { Optional(String($0)) } },
            backward: { (names: [String?]) in names.map { $0 ?? "" }.joined(separator: " ") }),
          .renamed("last", to: "surname", since: 4),
          .dropped("first", since: 5),
        ]))
  }

  private static func writes(
    _ written: [String: FieldLineage.Write], in lineage: FieldLineage
  ) -> [FieldLineage.Write?] {
    lineage.names.map { written[$0] }
  }

  @Test("a value is converted along all steps, and one that cannot be is passed over")
  func chain() throws {
    let lineage = try Self.long()
    let surname = try #require(lineage.index(of: "surname"))
    func read(_ written: [String: FieldLineage.Write]) -> (FieldValue?, Bool) {
      lineage.value(of: surname, in: Self.writes(written, in: lineage))
    }
    #expect(read([:]) == (nil, false))
    #expect(read(["n": Self.write(.string("Ada Lovelace"), 1)]) == (.string("Lovelace"), false))
    // One word is not two names: the conversion returns another number of values.
    #expect(read(["n": Self.write(.string("Ada"), 1)]) == (nil, true))
    #expect(
      read([
        "n": Self.write(.string("Ada"), 4), "name": Self.write(.int64(1), 3),
        "last": Self.write(.string("King"), 2), "surname": Self.write(.string("Byron"), 1),
      ]) == (.string("King"), true))
    #expect(
      read(["n": Self.write(.null, 2), "surname": Self.write(.string("Byron"), 1)]) == (.null, false))
    // Of one event the newest name counts.
    #expect(
      read([
        "name": Self.write(.string("A B"), 1), "last": Self.write(.string("C"), 1),
        "surname": Self.write(.null, 1),
      ]) == (.string("C"), false))
    #expect(
      read([
        "name": Self.write(.string("A B"), 1), "first": Self.write(.string("A"), 1),
        "surname": Self.write(.null, 1),
      ]) == (.null, false))
  }

  @Test("what older versions need is written along all steps, a dropped part included")
  func older() throws {
    let lineage = try Self.long()
    let surname = try #require(lineage.index(of: "surname"))
    let first = try #require(lineage.index(of: "first"))
    let writes = Self.writes(["name": Self.write(.string("Ada Lovelace"), 1)], in: lineage)
    var values = [FieldValue?](repeating: nil, count: lineage.names.count)
    values[surname] = .string("Byron")
    func written(for versions: Set<Int>) -> [String: FieldValue] {
      Dictionary(
        uniqueKeysWithValues: lineage.fields(changing: [surname], of: values, over: writes, for: versions)
          .map { ($0.name, $0.value) })
    }
    #expect(!lineage.isCurrent(first))
    #expect(written(for: []) == ["surname": .string("Byron")])
    #expect(written(for: [5]) == ["surname": .string("Byron")])
    #expect(written(for: [4]) == ["surname": .string("Byron")])
    #expect(written(for: [3]) == ["surname": .string("Byron"), "last": .string("Byron")])
    #expect(written(for: [1]) == ["surname": .string("Byron"), "n": .string("Ada Byron")])
    #expect(
      written(for: [2, 3]) == [
        "surname": .string("Byron"), "last": .string("Byron"), "first": .string("Ada"),
        "name": .string("Ada Byron"),
      ])
  }
}
