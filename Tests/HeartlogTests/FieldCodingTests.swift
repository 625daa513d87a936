import Foundation
import Heartlog
import HeartlogFormat
import TestSupport
import Testing

@Suite("Items become fields, and fields items")
struct FieldCodingTests {
  struct Everything: Codable, Equatable, Identifiable {
    enum Kind: String, Codable { case plain, fancy }
    struct Part: Codable, Equatable {
      var name: String
      var when: Date?
      var link: URL
      var sizes: [Double]
    }

    var id: Int
    var isFavorite = false
    var favoritedDate: Date?
    var text = "é\u{301}\0"
    var flag = true
    var small: Int8 = -128
    var large = Int64.min
    var unsigned: UInt32 = .max
    var fraction = 0.1
    var whole = 3.0
    var single: Float = 0.1
    var missing: String?
    var present: Int? = 7
    var kind = Kind.fancy
    var date = Date(timeIntervalSince1970: 1_709_294_400.123)
    var link = URL(string: "https://example.org/a%20b?c=d#e")!
    var uuid = UUID(uuidString: "6F9619FF-8B86-D011-B42D-00C04FC964FF")!
    var data = Data([0, 255, 62])
    var words = ["b", "a"]
    var grid: [[Int?]] = [[1, nil], []]
    var table = ["z": 1, "a": 2]
    var part = Part(name: "p", when: nil, link: URL(string: "file:///x")!, sizes: [0, 1e30, -0.5])
    var dates = [Date(timeIntervalSince1970: -0.001)]
  }

  @Test("every kind of value has the field that the rules say")
  func everyKind() throws {
    let fields = try FieldEncoder.fields(of: Everything(id: 1, isFavorite: true, favoritedDate: Date()))
    let nested = { (text: String) in FieldValue.json(try CanonicalJSON(canonical: text)) }
    let expected: [(String, FieldValue)] = [
      ("data", .string("AP8+")), ("date", .string("2024-03-01T12:00:00.123Z")),
      ("dates", try nested(#"["1969-12-31T23:59:59.999Z"]"#)), ("flag", .bool(true)),
      ("fraction", .double(0.1)),
      ("grid", try nested("[[1,null],[]]")), ("kind", .string("fancy")), ("large", .int64(.min)),
      ("link", .string("https://example.org/a%20b?c=d#e")), ("missing", .null),
      ("part", try nested(#"{"link":"file:///x","name":"p","sizes":[0,1e+30,-0.5]}"#)),
      ("present", .int64(7)),
      ("single", .double(Double(Float(0.1)))), ("small", .int64(-128)),
      ("table", try nested(#"{"a":2,"z":1}"#)), ("text", .string("é\u{301}\0")),
      ("unsigned", .int64(4_294_967_295)),
      ("uuid", .string("6f9619ff-8b86-d011-b42d-00c04fc964ff")), ("whole", .int64(3)),
      ("words", try nested(#"["b","a"]"#)),
    ]
    #expect(fields.map(\.name) == expected.map(\.0))
    for (field, (name, value)) in zip(fields, expected) { #expect(field.value == value, "\(name)") }
    #expect(fields.allSatisfy { !$0.isQuiet })
  }

  @Test("an item survives its fields, in any order and among unknown ones")
  func identity() throws {
    let item = Everything(
      id: -5, isFavorite: true, favoritedDate: Date(timeIntervalSince1970: 1_709_294_400.5), missing: "there")
    let extra = Field(name: "unheard", value: .unknown(tag: 9, bytes: [1]))
    let supplied = Field(name: "isFavorite", value: .string("no bool"))
    let decoded = try FieldDecoder.decode(
      Everything.self, id: "-5", isFavorite: true, favoritedDate: 1_709_294_400_500,
      fields: [extra, supplied] + FieldEncoder.fields(of: item).reversed())
    #expect(decoded == item)
  }

  @Test("a null field is an absent one")
  func nulls() throws {
    struct Item: Codable, Equatable { var a: Int?; var b: String? }
    for fields in [[], [Field(name: "a", value: .null)], try FieldEncoder.fields(of: Item())] {
      let item = try FieldDecoder.decode(
        Item.self, id: "x", isFavorite: false, favoritedDate: nil, fields: fields)
      #expect(item == Item())
    }
  }

  @Test("dates of whole milliseconds stay what they are, others are rounded down", arguments: [UInt64(1), 2])
  func dates(seed: UInt64) throws {
    struct Item: Codable { var date: Date }
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<5_000 {
      let time = Milliseconds.random(
        in: Limits.dateMillisecondsMin...Limits.dateMillisecondsMax, using: &generator)
      let date = Date(timeIntervalSince1970: Double(time) / 1_000)
      let fields = try FieldEncoder.fields(of: Item(date: date))
      #expect(fields == [Field(name: "date", value: .string(RFC3339.text(time)))], "seed \(seed)")
    }
    let late = Item(date: Date(timeIntervalSince1970: 1_709_294_400.1239))
    #expect(try FieldEncoder.fields(of: late).first?.value == .string("2024-03-01T12:00:00.123Z"))
    let early = Item(date: Date(timeIntervalSince1970: -0.0001))
    #expect(try FieldEncoder.fields(of: early).first?.value == .string("1969-12-31T23:59:59.999Z"))
    for seconds in [Double.nan, .infinity, 1e300, 253_402_300_800, -62_167_219_200.001] {
      #expect(throws: FieldCodingError.self) {
        try FieldEncoder.fields(of: Item(date: Date(timeIntervalSince1970: seconds)))
      }
    }
  }

  struct Counted<Number: Codable & Equatable>: Codable { var n: Number }

  func decode<Number: Codable & Equatable>(_ value: FieldValue, as type: Number.Type) throws -> Number {
    let fields = [Field(name: "n", value: value)]
    let item = try FieldDecoder.decode(
      Counted<Number>.self, id: "x", isFavorite: true, favoritedDate: nil, fields: fields)
    return item.n
  }

  @Test("numbers are taken as any type that holds them")
  func numbers() throws {
    #expect(try decode(.int64(3), as: Double.self) == 3)
    #expect(try decode(.int64(3), as: Float.self) == 3)
    #expect(try decode(.int64(255), as: UInt8.self) == 255)
    #expect(try decode(.double(1e19), as: UInt64.self) == 10_000_000_000_000_000_000)
    #expect(throws: FieldCodingError.self) { try decode(.double(0x1p64), as: UInt64.self) }
    #expect(throws: FieldCodingError.self) { try decode(.int64(256), as: UInt8.self) }
    #expect(throws: FieldCodingError.self) { try decode(.int64(-1), as: UInt.self) }
    #expect(throws: FieldCodingError.self) { try decode(.double(0.5), as: Int.self) }
    #expect(throws: FieldCodingError.self) { try decode(.double(1e19), as: Int.self) }
    #expect(throws: FieldCodingError.self) { try decode(.double(1e300), as: Float.self) }
    #expect(throws: FieldCodingError.self) { try decode(.bool(true), as: Int.self) }
    #expect(throws: FieldCodingError.self) { try decode(.string("3"), as: Int.self) }
    #expect(throws: FieldCodingError.self) { try decode(.int64(1), as: Bool.self) }
    #expect(throws: FieldCodingError.self) { try decode(.null, as: Int.self) }
    #expect(throws: FieldCodingError.self) { try FieldEncoder.fields(of: Counted(n: Double.nan)) }
    #expect(throws: FieldCodingError.self) { try FieldEncoder.fields(of: Counted(n: -Float.infinity)) }
    #expect(throws: FieldCodingError.self) { try FieldEncoder.fields(of: Counted(n: [Int64.max])) }
    #expect(try FieldEncoder.fields(of: Counted(n: -0.0)) == [Field(name: "n", value: .int64(0))])
  }

  private func reason(_ item: some Encodable) -> String? {
    do throws(FieldCodingError) {
      _ = try FieldEncoder.fields(of: item)
      return nil
    } catch {
      return error.description
    }
  }

  private func expectSame<Number: Codable & Equatable>(_ number: Number) throws {
    let fields = try FieldEncoder.fields(of: Counted(n: number))
    // As files and other processes read it, too.
    let line = try JSONValue.parse(fields[0].value.jsonValue.jsonText)
    for value in [fields[0].value, try FieldValue(line)] {
      #expect(try decode(value, as: Number.self) == number)
    }
  }

  @Test("a number comes back as itself, or is refused with its field")
  func exactNumbers() throws {
    var generator = SeededGenerator(seed: 7)
    for bits in 0..<64 {
      for _ in 0..<8 {
        let number = UInt64.random(in: .min ... .max, using: &generator) >> UInt64(bits)
        let nested = [number]
        if number <= Int64.max || Double(exactly: number) != nil {
          try expectSame(number)
        } else {
          #expect(reason(Counted(n: number))?.contains("field \"n\": the integer \(number), which") == true)
        }
        if number <= 1 << 53 || number > Int64.max && Double(exactly: number) != nil {
          try expectSame(nested)
        } else {
          #expect(reason(Counted(n: nested))?.hasPrefix("field \"n\": at [0]: the ") == true)
          #expect(reason(Counted(n: nested))?.contains("\(number)") == true)
        }
        try expectSame(Int64(bitPattern: number))
        try expectSame(Float(bitPattern: UInt32(truncatingIfNeeded: number) & 0xBF7F_FFFF))
        let double = Double(bitPattern: number & 0xBFEF_FFFF_FFFF_FFFF)
        try expectSame(double == 0 ? 0 : double)
      }
    }
    try expectSame(Int128(Int64.min))
    try expectSame(UInt128(7))
    try expectSame(UInt128(1) << 100)
    try expectSame([Int128(-1) << 90])
    #expect(reason(Counted(n: UInt64.max))?.contains("18446744073709551615") == true)
    #expect(reason(Counted(n: Int128.max))?.contains("\(Int128.max)") == true)
    #expect(reason(Counted(n: Optional(UInt128.max)))?.hasPrefix("field \"n\": the integer") == true)
    #expect(try FieldEncoder.fields(of: Counted(n: Int128?.none)).first?.value == .null)
  }

  @Test("a nested number that JSON readers would round is refused with its place")
  func nestedNumbers() throws {
    struct Item: Codable {
      struct Part: Codable { var size: Double, ids: [String: Int] }
      var parts: [Part]
    }
    let most = 1 << 53
    let words = "in a list or an object, where JSON readers round integers beyond ±2^53"
    func reason(_ size: Double, _ id: Int) -> String {
      self.reason(Item(parts: [.init(size: 0, ids: [:]), .init(size: size, ids: ["b": id])])) ?? ""
    }
    #expect(reason(Double(most), -most).isEmpty)
    #expect(reason(1e19, 0).isEmpty)
    #expect(reason(1, most + 1).hasPrefix("field \"parts\": at [1].ids.b: the number \(most + 1) \(words)"))
    #expect(reason(1e17, 1).hasPrefix("field \"parts\": at [1].size: the number 100000000000000000 \(words)"))
  }

  @Test("decimals come back to the last digit")
  func decimals() throws {
    let texts = [
      "0.1", "-79228162514264337593543950335.5", "1e-120", "3", "99999999999999999999999999999999999999",
    ]
    for text in texts {
      let number = try #require(Decimal(string: text))
      let fields = try FieldEncoder.fields(of: Counted(n: number))
      #expect(try decode(fields[0].value, as: Decimal.self) == number, "\(text)")
    }
  }

  @Test("an error names the field, and the place in a nested value")
  func errors() throws {
    struct Item: Codable {
      struct Part: Codable { var size: Double }
      var parts: [Part]
      var link: URL
    }
    let item = Item(parts: [.init(size: 1), .init(size: .nan)], link: URL(string: "a")!)
    let encoding = #expect(throws: FieldCodingError.self) { try FieldEncoder.fields(of: item) }
    #expect(encoding?.description == "field \"parts\": at [1].size: a number that is not finite")
    func decodingError(_ fields: [Field]) -> String? {
      #expect(throws: FieldCodingError.self) {
        try FieldDecoder.decode(Item.self, id: "x", isFavorite: true, favoritedDate: nil, fields: fields)
      }?.description
    }
    let parts = Field(name: "parts", value: .json(try CanonicalJSON(JSONValue.parse(#"[{"size":"big"}]"#))))
    #expect(decodingError([parts]) == "field \"parts\": at [0].size: a string where a number should be")
    #expect(decodingError([]) == "field \"parts\": it is missing")
    let none = Field(name: "parts", value: .json(try CanonicalJSON(.array([]))))
    #expect(
      decodingError([none, Field(name: "link", value: .string(""))])
        == "field \"link\": a string that is not a URL")
    #expect(
      decodingError([none, Field(name: "link", value: .int64(1))])
        == "field \"link\": an integer where a string should be")
  }

  @Test("names that are the store's own, or no names, are refused")
  func names() {
    for name in ["@note", "@", "", "a\n", "\u{85}", String(repeating: "a", count: 257)] {
      #expect(throws: FieldCodingError.self, "\(name)") { try FieldEncoder.fields(of: [name: 1]) }
    }
    for name in ["a@", "é", " ", String(repeating: "a", count: 256)] {
      #expect(throws: Never.self) { try FieldEncoder.fields(of: [name: 1]) }
    }
  }

  @Test("what is no object is no item")
  func notObjects() throws {
    #expect(throws: FieldCodingError.self) { try FieldEncoder.fields(of: [1, 2]) }
    #expect(throws: FieldCodingError.self) { try FieldEncoder.fields(of: 1) }
    #expect(throws: FieldCodingError.self) { try FieldEncoder.fields(of: Date()) }
    #expect(throws: FieldCodingError.self) { try FieldEncoder.fields(of: Optional<[String: Int]>.none) }
    struct Wrapper: Encodable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(["a": 1])
      }
    }
    #expect(try FieldEncoder.fields(of: Wrapper()) == [Field(name: "a", value: .int64(1))])
  }

  @Test("a list of strings decodes to what was encoded, with and without escapes")
  func listsOfStrings() throws {
    struct Item: Codable, Equatable {
      var words: [String]
      var more: [String]?
    }
    let lists: [[String]] = [
      [], [""], ["", ""], ["a"], ["a", "b,c", "[d]"], ["\""], ["\\"], ["é", "e\u{301}"], ["a\n", "b"],
      ["\u{7F}"], ["🐕"], [String(repeating: "x", count: 10_000)],
    ]
    for words in lists {
      for more in [nil, words] {
        let item = Item(words: words, more: more)
        let decoded = try FieldDecoder.decode(
          Item.self, id: "x", isFavorite: false, favoritedDate: nil, fields: try FieldEncoder.fields(of: item)
        )
        #expect(decoded == item)
        #expect(decoded.words.map { Array($0.utf8) } == words.map { Array($0.utf8) })
      }
    }
    for text in [#"["a",1]"#, "[null]", #"{"a":"b"}"#] {
      #expect(throws: FieldCodingError.self) {
        try FieldDecoder.decode(
          Item.self, id: "x", isFavorite: false, favoritedDate: nil,
          fields: [Field(name: "words", value: .json(try CanonicalJSON(canonical: text)))])
      }
    }
  }

  @Test("hand-written coding with nested containers, superclasses and many keys works")
  func containers() throws {
    struct Item: Codable, Equatable {
      enum Key: String, CodingKey { case point, list, x, y }
      var x: Int, y: Int, list: [String]
      init(x: Int, y: Int, list: [String]) { (self.x, self.y, self.list) = (x, y, list) }
      init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        let point = try container.nestedContainer(keyedBy: Key.self, forKey: .point)
        x = try point.decode(Int.self, forKey: .x)
        y = try point.decode(Int.self, forKey: .y)
        var elements = try container.nestedUnkeyedContainer(forKey: .list)
        list = []
        while !elements.isAtEnd { list.append(try elements.decode(String.self)) }
        #expect(throws: FieldCodingError.self) { try elements.decode(String.self) }
      }
      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        var point = container.nestedContainer(keyedBy: Key.self, forKey: .point)
        try point.encode(x, forKey: .x)
        try point.encodeIfPresent(Int?.none, forKey: .list)
        try point.encode(y, forKey: .y)
        var elements = container.nestedUnkeyedContainer(forKey: .list)
        for text in list { try elements.encode(text) }
      }
    }
    let item = Item(x: 1, y: 2, list: ["a", "b"])
    let fields = try FieldEncoder.fields(of: item)
    #expect(fields.map(\.value.jsonValue.jsonText) == [#"["a","b"]"#, #"{"x":1,"y":2}"#])
    #expect(
      try FieldDecoder.decode(Item.self, id: "x", isFavorite: true, favoritedDate: nil, fields: fields)
        == item)

    let many = Dictionary(uniqueKeysWithValues: (0..<100).map { ("key\($0)", $0) })
    struct Holder: Codable, Equatable { var many: [String: Int] }
    #expect(
      try FieldDecoder.decode(
        Holder.self, id: "x", isFavorite: true, favoritedDate: nil,
        fields: FieldEncoder.fields(of: Holder(many: many))) == Holder(many: many))
  }
}
