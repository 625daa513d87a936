import HeartlogFormat
import Testing

@Suite("JSON is read strictly")
struct JSONParserTests {
  @Test(
    "a value is read as what it is",
    arguments: [
      ("null", JSONValue.null), (" true ", .bool(true)), ("false", .bool(false)),
      ("0", .int64(0)), ("-0", .int64(0)), ("-0.0", .int64(0)), ("-1e-400", .int64(0)),
      ("9007199254740993", .int64(9_007_199_254_740_993)),
      ("9223372036854775807", .int64(.max)), ("-9223372036854775808", .int64(.min)),
      ("9223372036854776000", .double(9_223_372_036_854_775_808)), ("10000000000000000000", .double(1e19)),
      ("-100000000000000000000", .double(-1e20)), ("295147905179352830000", .double(0x1p68)),
      ("9223372036854788153.0", .double(9_223_372_036_854_788_096)),
      ("123456789012345678901234567890e0", .double(1.2345678901234568e29)),
      ("1e3", .int64(1000)), ("1.50", .double(1.5)), ("2.5e+1", .int64(25)), ("12E-1", .double(1.2)),
      ("0.1", .double(0.1)), ("5e-324", .double(.leastNonzeroMagnitude)),
      ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
      ("9007199254740993.0", .int64(9_007_199_254_740_992)), ("1e22", .double(1e22)), ("1e23", .double(1e23)),
      ("\"\"", .string("")), ("\"a\\u0000b\"", .string("a\0b")),
      ("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", .string("\"\\/\u{8}\u{c}\n\r\t")),
      ("\"\\ud83d\\uDE00 \\u00e9é\"", .string("😀 éé")),
      ("[]", .array([])), ("[ 1 , [ ] ]", .array([.int64(1), .array([])])), ("{ }", .object([])),
      (
        "\t{\"b\" : 1,\n\"a\":{\"\":null}}\r\n",
        .object([JSONMember("b", .int64(1)), JSONMember("a", .object([JSONMember("", .null)]))])
      ),
    ])
  func values(text: String, value: JSONValue) throws {
    #expect(try JSONValue.parse(text) == value)
  }

  @Test(
    "what RFC 8259 does not have is refused, with its place",
    arguments: [
      ("", 0), ("  ", 2), ("nul", 0), ("nulll", 4), ("True", 0), ("NaN", 0), ("-Infinity", 1), ("+1", 0),
      (".5", 0), ("1.", 2),
      ("01", 0), ("-", 1), ("1e", 2), ("1e+", 3), ("1e400", 0), ("0x10", 1), ("1 2", 2), ("[1,]", 3),
      ("[1 2]", 3), ("[", 1),
      ("[1", 2), ("{", 1), ("{1:2}", 1), ("{\"a\"}", 4), ("{\"a\":}", 5), ("{\"a\":1,}", 7),
      ("{\"a\":1 \"b\":2}", 7),
      ("{,}", 1), ("\"", 0), ("\"\\", 1), ("\"\\\"", 0), ("\"\\x\"", 1), ("\"\\u12\"", 1), ("\"\\u12g4\"", 1),
      ("\"a\u{1}\"", 2), ("\"a\n\"", 2),
      ("\"\\n\n\"", 3), ("'a'", 0), ("// a\n1", 0), ("\u{FEFF}1", 0), ("{\"a\":1,\"a\":2}", 7),
      ("{\"a\":1,\"\\u0061\":2}", 7),
      ("\"\\ud800\"", 1), ("\"\\ud800x\"", 1), ("\"\\ud800\\n\"", 1), ("\"\\udc00\"", 1),
      ("\"\\ud800\\ud800\"", 1), ("1\u{0}", 1),
    ])
  func refusals(text: String, offset: Int) {
    let error = #expect(throws: MalformedError.self) { try JSONValue.parse(text) }
    #expect(error?.reason.hasSuffix("at byte offset \(offset)") == true, "\(error?.reason ?? "") for \(text)")
  }

  @Test(
    "an integer that would become another one is refused, by its member's name",
    arguments: [
      "9223372036854775808", "9223372036854788153", "18446744073709551615", "-9223372036854775809",
      "9223372036854776001", "123456789012345678901234567890", "1000000000000000000000",
    ])
  func otherIntegers(text: String) {
    let refused = "the integer \(text), which neither 64 bits nor a double hold exactly; as text it is kept"
    let alone = #expect(throws: MalformedError.self) { try JSONValue.parse(text) }
    #expect(alone?.reason == "\(refused), at byte offset 0")
    let inside = #expect(throws: MalformedError.self) { try JSONValue.parse(#"{"a":{"b":[1,\#(text)]}}"#) }
    #expect(inside?.reason == "at a.b: \(refused), at byte offset 13")
  }

  @Test("every double that is written is read as itself")
  func doubles() throws {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<20_000 {
      // Of all exponents, those of whole numbers beyond int64 above all.
      let exponent =
        UInt64.random(in: 0..<4, using: &generator) == 0
        ? UInt64.random(in: 0...2_046, using: &generator)
        : UInt64.random(in: 1_080...1_100, using: &generator)
      let bits = UInt64.random(in: .min ... .max, using: &generator) & ~(0x7FF << 52) | exponent << 52
      let value = try #require(JSONValue.number(Double(bitPattern: bits)))
      #expect(try JSONValue.parse(value.jsonText) == value, "\(value.jsonText)")
    }
  }

  @Test(
    "bytes that are not UTF-8 are refused",
    arguments: [
      [0x80], [0xC3], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF4, 0x90, 0x80, 0x80],
      [0xE2, 0x82], [0xFF],
    ] as [[UInt8]])
  func invalidUTF8(bytes: [UInt8]) {
    for escape in ["", "\\n"] {
      let text = Array("\"\(escape)".utf8) + bytes + Array("\(escape)\"".utf8)
      #expect(throws: MalformedError.self) { try JSONValue.parse(text) }
    }
    #expect(throws: MalformedError.self) {
      try JSONValue.parse(Array("{\"".utf8) + bytes + Array("\":1}".utf8))
    }
  }

  @Test("nesting is bounded, however long the text goes on")
  func depth() throws {
    let depth = Limits.jsonDepthMax
    let arrays = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    #expect(throws: Never.self) { try JSONValue.parse(arrays) }
    #expect(throws: MalformedError.self) { try JSONValue.parse("[" + arrays + "]") }
    #expect(throws: Never.self) { try JSONValue.parse("[" + arrays + "]", depthMax: depth + 1) }
    #expect(throws: MalformedError.self) { try JSONValue.parse(String(repeating: "[", count: 1_000_000)) }
    #expect(throws: MalformedError.self) {
      try JSONValue.parse(String(repeating: "{\"a\":", count: 1_000_000))
    }
  }

  @Test("strings of at most 1 MiB")
  func longStrings() throws {
    let longest = String(repeating: "a", count: Limits.valueBytesMax)
    #expect(try JSONValue.parse("\"\(longest)\"") == .string(longest))
    #expect(throws: MalformedError.self) { try JSONValue.parse("\"\(longest)a\"") }
    #expect(throws: MalformedError.self) { try JSONValue.parse("\"\(longest)\\n\"") }
    #expect(throws: MalformedError.self) { try JSONValue.parse("{\"\(longest)a\":1}") }
    #expect(throws: MalformedError.self) { try JSONValue.parse(String(repeating: "1", count: 5_000)) }
  }

  @Test("a duplicate is found among many names, and names that only look alike are two")
  func manyNames() throws {
    let names = (0..<100).map { "\"name\($0)\":\($0)" }
    let value = try JSONValue.parse("{" + names.joined(separator: ",") + "}")
    #expect(value["name99"] == .int64(99) && value["name100"] == nil)
    for name in [0, 15, 16, 17, 99] {
      let text = "{" + names.joined(separator: ",") + ",\"name\(name)\":0}"
      #expect(throws: MalformedError.self) { try JSONValue.parse(text) }
    }
    let alike = try JSONValue.parse("{\"\u{E9}\":1,\"e\u{301}\":2}")
    #expect(alike["\u{E9}"] == .int64(1) && alike["e\u{301}"] == .int64(2))
  }

  @Test("no text cut short and no text with a byte changed traps, or is read as another's value")
  func mutations() throws {
    let text = Array(#"{"a":[1,-2.5e3,"x\u00e9\ud83d\ude00é",null,true],"b":{"c":"","d":[[],{}]}}"#.utf8)
    let value = try JSONValue.parse(text)
    for end in 0..<text.count {
      #expect(throws: MalformedError.self) { try JSONValue.parse(Array(text[..<end])) }
    }
    for index in text.indices {
      for byte in UInt8.min...UInt8.max where byte != text[index] {
        var changed = text
        changed[index] = byte
        guard let other = try? JSONValue.parse(changed) else { continue }
        // Escapes have two cases of digits, and exponents two of letters.
        let isOtherSpelling = byte ^ 0x20 == text[index]
        #expect(other != value || isOtherSpelling, "byte \(index) as \(byte)")
        #expect(try JSONValue.parse(other.jsonText) == other)
      }
    }
  }
}
