/// Builds JSON text incrementally, with members in the order of writing, one line of output at a time.
///
///     var line = JSONWriter()
///     line.beginObject()
///     line.member("library", "papers")
///     line.name("fields")
///     line.value(fields)
///     line.endObject()
///     line.endLine()
///
/// The caller must balance begins and ends, and write a value after each name; this is not checked.
package struct JSONWriter: Sendable {
  /// The UTF-8 text so far.
  package private(set) var bytes: [UInt8] = []
  private var needsComma = false

  /// Creates an empty writer.
  package init() {}

  /// Clears the text and keeps its memory.
  package mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    needsComma = false
  }

  /// Writes `{`; members come next.
  package mutating func beginObject() { begin(UInt8(ascii: "{")) }
  /// Writes `}`.
  package mutating func endObject() { end(UInt8(ascii: "}")) }
  /// Writes `[`; values come next.
  package mutating func beginArray() { begin(UInt8(ascii: "[")) }
  /// Writes `]`.
  package mutating func endArray() { end(UInt8(ascii: "]")) }

  /// Ends a line of JSON Lines.
  package mutating func endLine() {
    assert(bytes.last != UInt8(ascii: ":"), "a value follows a name")
    bytes.append(UInt8(ascii: "\n"))
    needsComma = false
  }

  /// Begins a member; its value comes next.
  package mutating func name(_ name: String) {
    assert(bytes.last != UInt8(ascii: ":"), "a value follows a name")
    separate()
    JSONText.append(name, to: &bytes)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes `null`.
  package mutating func null() { value { $0.append(contentsOf: "null".utf8) } }

  /// Writes a value.
  package mutating func value(_ value: some JSONWritable) { value.write(to: &self) }

  /// Writes a value as `append` appends it.
  fileprivate mutating func value(_ append: (inout [UInt8]) -> Void) {
    separate()
    append(&bytes)
  }

  /// Writes fields as an object.
  package mutating func value(_ fields: some Sequence<Field>) {
    beginObject()
    for field in fields { member(field.name, field.value) }
    endObject()
  }

  /// Writes a name and a value.
  package mutating func member(_ name: String, _ value: some JSONWritable) {
    self.name(name)
    self.value(value)
  }

  /// Writes a name and fields as an object.
  package mutating func member(_ name: String, _ fields: some Sequence<Field>) {
    self.name(name)
    self.value(fields)
  }

  /// Writes a name and an array that holds an object for each element.
  ///
  /// - Parameter write: writes the members of an element's object.
  package mutating func member<Element>(
    _ name: String, objects elements: [Element], _ write: (Element, inout JSONWriter) -> Void
  ) {
    self.name(name)
    beginArray()
    for element in elements {
      beginObject()
      write(element, &self)
      endObject()
    }
    endArray()
  }

  private mutating func begin(_ bracket: UInt8) {
    separate()
    bytes.append(bracket)
    needsComma = false
  }

  private mutating func end(_ bracket: UInt8) {
    assert(bytes.last != UInt8(ascii: ":"), "a value follows a name")
    bytes.append(bracket)
    needsComma = true
  }

  private mutating func separate() {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = true
  }
}

/// A value that JSON output shows.
package protocol JSONWritable {
  func write(to json: inout JSONWriter)
  /// Whether this is no value.
  var isNil: Bool { get }
}

extension JSONWritable {
  package var isNil: Bool { false }
}

/// In decimal, whatever its size.
extension JSONWritable where Self: BinaryInteger {
  package func write(to json: inout JSONWriter) { json.value { JSONText.append(self, to: &$0) } }
}

extension Int: JSONWritable {}
extension Int32: JSONWritable {}
extension UInt32: JSONWritable {}
extension Int64: JSONWritable {}
extension UInt64: JSONWritable {}

extension Bool: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.value { $0.append(contentsOf: self ? "true".utf8 : "false".utf8) }
  }
}

/// Null for NaN and infinity, which JSON cannot represent.
extension Double: JSONWritable {
  package func write(to json: inout JSONWriter) { json.value { JSONText.append(self, to: &$0) } }
}

/// With the escapes of RFC 8785.
extension String: JSONWritable {
  package func write(to json: inout JSONWriter) { json.value { JSONText.append(self, to: &$0) } }
}

/// Members in their stored order.
extension JSONValue: JSONWritable {
  package func write(to json: inout JSONWriter) {
    switch self {
    case .null: json.null()
    case .bool(let value): value.write(to: &json)
    case .int64(let value): value.write(to: &json)
    case .double(let value): value.write(to: &json)
    case .string(let value): value.write(to: &json)
    case .array(let elements): elements.write(to: &json)
    case .object(let members):
      json.beginObject()
      for member in members { json.member(member.name, member.value) }
      json.endObject()
    }
  }
}

/// `FieldValue.jsonValue`, without parsing nested text.
extension FieldValue: JSONWritable {
  package func write(to json: inout JSONWriter) {
    guard case .json(let nested) = self else { return json.value(jsonValue) }
    json.value { $0.append(contentsOf: nested.text.utf8) }
  }
}

/// Null if there is no value.
extension Optional: JSONWritable where Wrapped: JSONWritable {
  package func write(to json: inout JSONWriter) {
    if let self { self.write(to: &json) } else { json.null() }
  }

  package var isNil: Bool { self == nil }
}

extension Array: JSONWritable where Element: JSONWritable {
  package func write(to json: inout JSONWriter) {
    json.beginArray()
    for element in self { element.write(to: &json) }
    json.endArray()
  }
}

/// The parts of JSON text as RFC 8785 writes them, shared by all output.
enum JSONText {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Appends a string with its quotation marks. Only `"`, `\` and control characters are escaped.
  static func append(_ text: String, to output: inout [UInt8]) {
    var text = text
    text.withUTF8 { utf8 in
      output.append(UInt8(ascii: "\""))
      var start = 0
      for index in 0..<utf8.count {
        let byte = utf8[index]
        guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
        output.append(contentsOf: utf8[start..<index])
        appendEscape(of: byte, to: &output)
        start = index + 1
      }
      output.append(contentsOf: utf8[start...])
      output.append(UInt8(ascii: "\""))
    }
  }

  private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: output.append(UInt8(ascii: "b"))
    case 0x09: output.append(UInt8(ascii: "t"))
    case 0x0A: output.append(UInt8(ascii: "n"))
    case 0x0C: output.append(UInt8(ascii: "f"))
    case 0x0D: output.append(UInt8(ascii: "r"))
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(byte)
    default:
      output.append(contentsOf: "u00".utf8)
      output.append(digits[Int(byte >> 4)])
      output.append(digits[Int(byte & 15)])
    }
  }

  static func append(_ value: some BinaryInteger, to output: inout [UInt8]) {
    output.append(contentsOf: String(value).utf8)
  }

  /// Appends a finite number as ECMAScript's Number::toString does. JSON cannot represent other numbers; they become null, as in
  /// `JSON.stringify`.
  ///
  /// Swift, like ECMAScript, produces the shortest digits that read back as the same double. Only the layout differs.
  static func append(_ value: Double, to output: inout [UInt8]) {
    guard value.isFinite else { return output.append(contentsOf: "null".utf8) }
    if let integer = Int64(exactly: value), integer.magnitude <= 1 << 53 {
      return append(integer, to: &output)
    }
    if value.sign == .minus { output.append(UInt8(ascii: "-")) }
    // Such as 12.5 or 1.25e-07.
    let parts = value.magnitude.description.split(separator: "e")
    var digits = Array(parts[0].utf8)
    // The value is 0.DIGITS × 10^point.
    var point = digits.firstIndex(of: UInt8(ascii: ".")) ?? digits.count
    digits.removeAll { $0 == UInt8(ascii: ".") }
    if parts.count > 1, let exponent = Int(parts[1]) { point += exponent }
    let zeros = digits.prefix { $0 == UInt8(ascii: "0") }.count
    digits.removeFirst(zeros)
    point -= zeros
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    assert(!digits.isEmpty && digits.count <= 17, "a double has at most 17 digits")
    append(digits, point: point, to: &output)
  }

  /// Lays out 0.DIGITS × 10^point as ECMAScript's Number::toString does.
  private static func append(_ digits: [UInt8], point: Int, to output: inout [UInt8]) {
    let zero = UInt8(ascii: "0")
    switch point {
    // A double needs at most 17 digits.
    case digits.count...21:
      output.append(contentsOf: digits)
      output.append(contentsOf: repeatElement(zero, count: point - digits.count))
    case 1...21:
      output.append(contentsOf: digits[..<point])
      output.append(UInt8(ascii: "."))
      output.append(contentsOf: digits[point...])
    case -5...0:
      output.append(contentsOf: "0.".utf8)
      output.append(contentsOf: repeatElement(zero, count: -point))
      output.append(contentsOf: digits)
    default:
      output.append(contentsOf: digits[..<1])
      if digits.count > 1 { output.append(UInt8(ascii: ".")) }
      output.append(contentsOf: digits[1...])
      output.append(UInt8(ascii: "e"))
      output.append(UInt8(ascii: point > 0 ? "+" : "-"))
      append(abs(point - 1), to: &output)
    }
  }
}

extension JSONValue {
  /// The value as JSON text without spaces, with members in their stored order.
  package var jsonText: String {
    var json = JSONWriter()
    json.value(self)
    return String(decoding: json.bytes, as: UTF8.self)
  }
}
