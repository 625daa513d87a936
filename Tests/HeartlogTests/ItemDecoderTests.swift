import Foundation
import HeartlogFormat
import HeartlogState
import Testing

@testable import Heartlog

@Suite("Items are decoded from their fields where they lie")
struct ItemDecoderTests {
  private struct Needed<Value: Decodable>: Decodable { var value: Value }
  private struct Optional<Value: Decodable>: Decodable { var value: Value? }
  private enum Kind: String, Decodable { case plain, fancy }
  private struct Part: Decodable { var a: Int }

  private static let values: [FieldValue?] = [
    nil, .null, .bool(true), .bool(false), .int64(0), .int64(-1), .int64(127), .int64(128), .int64(255),
    .int64(256), .int64(1 << 53),
    .int64(.max), .int64(.min), .double(0.5), .double(1e300), .double(0x1p64), .double(-0x1p80), .string(""),
    .string("true"),
    .string("2024-03-01T12:00:00.123Z"), .string("2024-03-01T12:00:00Z"), .string("2024-02-30T00:00:00Z"),
    .string("2016-12-31T23:59:60Z"), .string("2024-03-01T13:00:00.25+01:00"),
    .string("0000-01-01T00:00:00.000Z"),
    .string("9999-12-31T23:59:59.999Z"), .string("9999-12-31T23:59:59-01:00"),
    .string("-001-01-01T00:00:00Z"),
    .string("2024-03-01t12:00:00z"), .string("6f9619ff-8b86-d011-b42d-00c04fc964ff"),
    .string("https://example.org/a%20b"),
    .string("AP8+"), .string("é\u{301}\0"), .string("fancy"), .string(String(repeating: "long ", count: 50)),
    try? FieldValue(.array([.string("a")])), try? FieldValue(.array([.int64(1), .null])),
    try? FieldValue(.object([JSONMember("a", .int64(1))])), .unknown(tag: 9, bytes: [1, 2]),
  ]

  /// The fields as a state holds them; nil where no state does.
  private static func packed(_ fields: [Field]) -> ItemFields? {
    guard fields.allSatisfy({ !$0.value.isNull }) else { return nil }
    var state = FavoritesState()
    let event = Event(library: "l", item: "i", action: .added, fields: fields)
    state.apply(
      Commit(
        replica: ReplicaID(high: 1, low: 1), number: CommitNumber(rawValue: 1),
        firstSequence: SequenceNumber(rawValue: 1), stamp: HybridTimestamp(rawValue: 1 << 20), wallTime: 1,
        records: [.event(event)]))
    return state.item("i", in: "l")?.fields
  }

  private static func outcome<T>(_ decode: () throws -> T) -> String {
    do { return "\(try decode())" } catch { return "\(FieldCodingError(error))" }
  }

  /// Decodes a type from fields, and from the JSON object that they are.
  private static func check<T: Decodable>(_ type: T.Type, _ fields: [Field]) {
    let object = JSONValue.object(fields.map { JSONMember($0.name, $0.value.jsonValue) })
    let expected = outcome { try T(from: ValueDecoder(object)) }
    let supplied = SuppliedValues(id: "i", isFavorite: true, favoritedDate: 1, template: nil)
    for fields in [ItemFields(fields), packed(fields)].compactMap({ $0 }) {
      #expect(
        outcome { try T(from: ItemDecoder(fields, supplied: supplied)) } == expected,
        "\(type) \(fields.map(\.value))")
    }
  }

  @Test("as from the JSON object that they are, to the words of each error")
  func equalToJSON() {
    func check<T: Decodable>(_ type: T.Type) {
      for value in Self.values {
        let names = value.map { [Field(name: "value", value: $0)] } ?? []
        for fields in [
          names, [Field(name: "a", value: .int64(1))] + names + [Field(name: "valuf", value: .bool(true))],
        ] {
          Self.check(Needed<T>.self, fields)
          Self.check(Optional<T>.self, fields)
        }
      }
    }
    check(Bool.self)
    check(String.self)
    check(Double.self)
    check(Float.self)
    check(Int.self)
    check(Int8.self)
    check(Int16.self)
    check(Int32.self)
    check(Int64.self)
    check(Int128.self)
    check(UInt.self)
    check(UInt8.self)
    check(UInt16.self)
    check(UInt32.self)
    check(UInt64.self)
    check(UInt128.self)
    check(Date.self)
    check(URL.self)
    check(UUID.self)
    check(Data.self)
    check(Kind.self)
    check(Part.self)
    check([String].self)
    check([Int?].self)
    check([String: Int].self)
  }

  @Test("a key finds the field whose name has its bytes, else one that is equivalent")
  func names() throws {
    struct Composed: Decodable {
      enum CodingKeys: String, CodingKey { case value = "caf\u{e9}" }
      var value: Int
    }
    for name in ["caf\u{e9}", "cafe\u{301}"] {
      let fields = [Field(name: name, value: .int64(7))]
      for fields in [ItemFields(fields), try #require(Self.packed(fields))] {
        let supplied = SuppliedValues(id: "i", isFavorite: true, favoritedDate: nil, template: nil)
        #expect(try Composed(from: ItemDecoder(fields, supplied: supplied)).value == 7)
      }
    }
  }

  @Test("of two names that are equivalent, a key finds the one that has its bytes")
  func equivalentNames() throws {
    struct Both: Decodable {
      enum CodingKeys: String, CodingKey {
        case composed = "caf\u{e9}"
        case decomposed = "cafe\u{301}"
      }
      var composed: Int
      var decomposed: String
    }
    let both = [
      Field(name: "cafe\u{301}", value: .string("two")), Field(name: "caf\u{e9}", value: .int64(1)),
    ]
    for fields in [ItemFields(both), try #require(Self.packed(both))] {
      let supplied = SuppliedValues(id: "i", isFavorite: true, favoritedDate: nil, template: nil)
      let item = try Both(from: ItemDecoder(fields, supplied: supplied))
      #expect(item.composed == 1 && item.decomposed == "two")
    }
  }

  @Test("a key that is equivalent to a name of ASCII finds its field")
  func equivalentOfASCII() throws {
    struct Kelvins: Decodable {
      // The Kelvin sign is equivalent to the letter K.
      enum CodingKeys: String, CodingKey {
        case date = "\u{212a}"
        case texts = "\u{212a}elvins of all stars"
      }
      var date: Date
      var texts: [String]
    }
    let kelvins = [
      Field(name: "K", value: .string("2024-02-29T12:00:00.000Z")),
      Field(name: "KK1", value: .bool(true)),
      Field(name: "Kelvins of all stars", value: .json(try CanonicalJSON(canonical: #"["5772"]"#))),
      Field(name: "Kelvins of all stars!!", value: .bool(true)),
    ]
    for fields in [ItemFields(kelvins), try #require(Self.packed(kelvins))] {
      let supplied = SuppliedValues(id: "i", isFavorite: true, favoritedDate: nil, template: nil)
      let item = try Kelvins(from: ItemDecoder(fields, supplied: supplied))
      #expect(item.date.timeIntervalSince1970 == 1_709_208_000 && item.texts == ["5772"])
    }
  }

  @Test(
    "all keys are those of the store and those of the fields, and a type that is one value decodes the item")
  func containers() throws {
    struct Keys: Decodable {
      struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
      }
      let names: [String]
      init(from decoder: any Decoder) throws {
        names = try decoder.container(keyedBy: Key.self).allKeys.map(\.stringValue)
      }
    }
    struct Wrapper: Decodable {
      let names: [String]
      init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        names = try container.decode(Keys.self).names
        #expect(!container.decodeNil())
        #expect(Self.refusal { try container.decode(Int.self) } == "an object where an integer should be")
        #expect(Self.refusal { try container.decode(Date.self) } == "an object where a string should be")
        #expect(Self.refusal { try decoder.unkeyedContainer() } == "an object where an array should be")
      }
      static func refusal(_ body: () throws -> Any) -> String? {
        do { _ = try body() } catch { return (error as? FieldCodingError)?.reason }
        return nil
      }
    }
    let fields = ["a", "id", "z"].map { Field(name: $0, value: .int64(1)) }
    let wrapper = try FieldDecoder.decode(
      Wrapper.self, id: "i", isFavorite: true, favoritedDate: nil, fields: fields)
    #expect(wrapper.names == ["id", "isFavorite", "favoritedDate", "a", "z"])
  }
}
