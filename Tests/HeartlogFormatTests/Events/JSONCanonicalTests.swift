@testable import HeartlogFormat
import TestSupport
import Testing

@Suite("JSON has one canonical form, that of RFC 8785")
struct JSONCanonicalTests {
  /// RFC 8785, appendix B.
  @Test(
    "numbers are written as in the RFC's table",
    arguments: [
      (0x0000_0000_0000_0000, "0"), (0x8000_0000_0000_0000, "0"), (0x0000_0000_0000_0001, "5e-324"),
      (0x8000_0000_0000_0001, "-5e-324"), (0x7FEF_FFFF_FFFF_FFFF, "1.7976931348623157e+308"),
      (0xFFEF_FFFF_FFFF_FFFF, "-1.7976931348623157e+308"), (0x4340_0000_0000_0000, "9007199254740992"),
      (0xC340_0000_0000_0000, "-9007199254740992"), (0x4430_0000_0000_0000, "295147905179352830000"),
      (0x44B5_2D02_C7E1_4AF5, "9.999999999999997e+22"), (0x44B5_2D02_C7E1_4AF6, "1e+23"),
      (0x44B5_2D02_C7E1_4AF7, "1.0000000000000001e+23"), (0x444B_1AE4_D6E2_EF4E, "999999999999999700000"),
      (0x444B_1AE4_D6E2_EF4F, "999999999999999900000"), (0x444B_1AE4_D6E2_EF50, "1e+21"),
      (0x3EB0_C6F7_A0B5_ED8C, "9.999999999999997e-7"), (0x3EB0_C6F7_A0B5_ED8D, "0.000001"),
      (0x41B3_DE43_5555_5553, "333333333.3333332"), (0x41B3_DE43_5555_5554, "333333333.33333325"),
      (0x41B3_DE43_5555_5555, "333333333.3333333"), (0x41B3_DE43_5555_5556, "333333333.3333334"),
      (0x41B3_DE43_5555_5557, "333333333.33333343"), (0xBECB_F647_612F_3696, "-0.0000033333333333333333"),
      (0x4314_3FF3_C1CB_0959, "1424953923781206.2"),
    ] as [(UInt64, String)])
  func numbers(bits: UInt64, text: String) throws {
    let value = JSONValue.double(Double(bitPattern: bits))
    #expect(value.jsonText == text)
    #expect(try CanonicalJSON(.array([value])).text == "[\(text)]")
  }

  @Test("NaN and infinity are refused, and null in output")
  func notFinite() {
    for value in [Double.nan, .infinity, -.infinity] {
      #expect(throws: MalformedError.self) { try CanonicalJSON(.array([.double(value)])) }
      #expect(throws: MalformedError.self) { try FieldValue(.double(value)) }
      #expect(JSONValue.double(value).jsonText == "null")
      #expect(JSONValue.number(value) == nil)
    }
  }

  /// RFC 8785, section 3.2.2.
  @Test("the RFC's first example")
  func example() throws {
    let input = #"""
      {
        "numbers": [333333333.33333329, 1E30, 4.50,
                    2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
      }
      """#
    #expect(
      try CanonicalJSON(JSONValue.parse(input)).text
        == #"{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#
        + #""string":"€$\u000f\nA'B\"\\\\\"/"}"#)
  }

  /// RFC 8785, section 3.2.3.
  @Test("the RFC's example of sorting, by UTF-16 code units")
  func sorting() throws {
    let input = #"""
      {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
      }
      """#
    let canonical = try CanonicalJSON(JSONValue.parse(input))
    #expect(
      canonical.value.object?.compactMap(\.value.string) == [
        "Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis", "Euro Sign",
        "Emoji: Grinning Face", "Hebrew Letter Dalet With Dagesh",
      ])
  }

  @Test("names sort as their UTF-16 code units do", arguments: [UInt64(1), 2, 3])
  func generatedNames(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let letters: [Character] = [
      "a", "b", "\u{7F}", "é", "€", "\u{D7FF}", "\u{E000}", "\u{FFFD}", "😀", "\u{10FFFF}",
    ]
    for _ in 0..<300 {
      var names = Set<String>()
      for _ in 0..<6 {
        names.insert(
          String(
            (0..<Int.random(in: 0...3, using: &generator)).map { _ in
              letters.randomElement(using: &generator)!
            }))
      }
      let shuffled = Array(names).shuffled(using: &generator)
      let canonical = try CanonicalJSON(.object(shuffled.map { JSONMember($0, .null) }))
      #expect(
        canonical.value.object?.map(\.name)
          == shuffled.sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) },
        "seed \(seed)")
    }
  }

  @Test("nested integers that readers of doubles would round are refused")
  func largeIntegers() throws {
    let most: Int64 = 1 << 53
    for integer in [most, -most] {
      #expect(try CanonicalJSON(.array([.int64(integer)])).text == "[\(integer)]")
    }
    for integer in [most + 1, -most - 1, .max, .min] {
      #expect(throws: MalformedError.self) { try CanonicalJSON(.array([.int64(integer)])) }
      #expect(try FieldValue(.int64(integer)) == .int64(integer))
    }
    #expect(throws: MalformedError.self) { try CanonicalJSON(.object([JSONMember("a", .double(1e17))])) }
  }

  @Test(
    "only what is canonical is taken as such",
    arguments: [
      "[1, 2]", "[1.0]", "[-0]", "[1e2]", "[1e21]", #"{"b":1,"a":2}"#, #"["\u0061"]"#, #"["\/"]"#,
      #"["\u000A"]"#,
      #"["\u001F"]"#, " []", "[]\n", "1", "\"a\"", "null", "", "[9007199254740993]", #"{"a":1,"a":1}"#,
    ])
  func notCanonical(text: String) {
    #expect(throws: MalformedError.self) { try CanonicalJSON(canonical: text) }
  }

  @Test("a canonical text is taken as it is")
  func canonical() throws {
    for text in ["[]", "{}", #"{"":[{},1e+21,0.5,"\u001f\n é"],"a":null}"#] {
      #expect(try CanonicalJSON(canonical: text).text == text)
    }
  }

  @Test("a list of strings is taken where its value is written as the same bytes, and only there")
  func lists() {
    let symbols: [UInt8] = Array("[]\",a\\ ".utf8) + [0x7F, 0xC3, 0xA9]
    for count in 0...4 {
      var digits = [Int](repeating: 0, count: count)
      while true {
        let inner = digits.map { symbols[$0] }
        for text in [
          inner, Array("[".utf8) + inner + Array("]".utf8), Array("[\"".utf8) + inner + Array("\"]".utf8),
        ] {
          let written = try? CanonicalJSON(JSONValue.parse(text)).text
          let isCanonical = written.map { Array($0.utf8) == text } ?? false
          #expect(
            ((try? text.withBytes { try CanonicalJSON(canonical: $0) }) != nil) == isCanonical,
            "\(String(decoding: text, as: UTF8.self))")
        }
        guard let place = digits.lastIndex(where: { $0 < symbols.count - 1 }) else { break }
        digits[place] += 1
        for later in digits.indices.dropFirst(place + 1) { digits[later] = 0 }
      }
    }
  }

  @Test("sizes, depths and doubled names are refused")
  func limits() throws {
    var nested = JSONValue.array([])
    for _ in 1..<Limits.jsonDepthMax { nested = .array([nested]) }
    #expect(throws: Never.self) { try CanonicalJSON(nested) }
    #expect(throws: MalformedError.self) { try CanonicalJSON(.array([nested])) }
    #expect(throws: MalformedError.self) { try CanonicalJSON(.object([JSONMember("a", nested)])) }
    let text = String(repeating: "a", count: Limits.valueBytesMax - 4)
    #expect(try CanonicalJSON(.array([.string(text)])).text.utf8.count == Limits.valueBytesMax)
    #expect(throws: MalformedError.self) { try CanonicalJSON(.array([.string(text + "a")])) }
    #expect(throws: MalformedError.self) { try FieldValue(.string(text + "aaaaa")) }
    #expect(throws: MalformedError.self) {
      try CanonicalJSON(.object([JSONMember("a", .null), JSONMember("b", .null), JSONMember("a", .null)]))
    }
  }

  @Test("generated values survive output, canonical form and fields", arguments: [UInt64(1), 2, 3, 4])
  func roundTrips(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let value = JSONValue.generated(depth: 4, using: &generator)
      #expect(try JSONValue.parse(value.jsonText) == value, "seed \(seed): \(value)")
      let field = try FieldValue(value)
      let again = try JSONValue.parse(field.jsonValue.jsonText)
      #expect(try FieldValue(again) == field, "seed \(seed): \(value)")
      guard case .json(let canonical) = field else {
        #expect(field.jsonValue == value)
        continue
      }
      #expect(try CanonicalJSON(canonical: canonical.text) == canonical, "seed \(seed): \(value)")
      #expect(try CanonicalJSON(canonical.value) == canonical)
    }
  }

  @Test("every double survives its text", arguments: [UInt64(1), 2])
  func doubles(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<20_000 {
      let number = Double(bitPattern: generator.next())
      guard let value = JSONValue.number(number) else { continue }
      #expect(try JSONValue.parse(value.jsonText) == value, "seed \(seed): \(number)")
      let short = Double(Int64.random(in: -99_999...99_999, using: &generator)) / 1_000
      #expect(try JSONValue.parse("\(short)").number == short)
    }
  }

  @Test("a text that a lying snapshot calls JSON is shown as the text that it is")
  func noJSON() {
    #expect(CanonicalJSON(checked: "Berlin [").value == .string("Berlin ["))
    #expect(CanonicalJSON(checked: "[1,2]").value == .array([.int64(1), .int64(2)]))
  }
}
