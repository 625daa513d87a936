/// A JSON value as in RFC 8259, with integers separate from other numbers.
///
/// Two values are equal if their bytes would be: strings are not normalised, and the order of members matters.
public enum JSONValue: Hashable, Sendable {
  /// The literal `null`.
  case null
  /// The literals `true` and `false`.
  case bool(Bool)
  /// A number that `Int64(exactly:)` accepts, however it was written: 1, 1.0 and 1e0 are the same.
  case int64(Int64)
  /// A finite number that `Int64(exactly:)` does not accept, as `JSONValue.number` ensures.
  case double(Double)
  /// A text, not normalised.
  case string(String)
  /// The elements in order.
  case array([JSONValue])
  /// The members in their original order, without duplicate names.
  case object([JSONMember])

  /// Returns the value of a number: an `int64` if that is exact, otherwise a `double`; nil for NaN and infinity.
  public static func number(_ value: Double) -> JSONValue? { FieldValue.number(value)?.jsonValue }

  public static func == (a: JSONValue, b: JSONValue) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int64(let a), .int64(let b)): a == b
    case (.double(let a), .double(let b)): a == b
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.array(let a), .array(let b)): a == b
    case (.object(let a), .object(let b)): a == b
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let value): hasher.combine(value)
    case .int64(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value)
    case .string(let value): UTF8Key(value).hash(into: &hasher)
    case .array(let values): hasher.combine(values)
    case .object(let members): hasher.combine(members)
    }
  }
}

/// A name and its value in a JSON object.
public struct JSONMember: Hashable, Sendable {
  /// The name, without quotation marks and escapes.
  public let name: String
  /// The value.
  public let value: JSONValue

  /// Creates a member.
  ///
  /// - Parameters:
  ///   - name: the name, without quotation marks and escapes.
  ///   - value: the value.
  public init(_ name: String, _ value: JSONValue) {
    self.name = name
    self.value = value
  }

  public static func == (a: JSONMember, b: JSONMember) -> Bool {
    a.name.utf8.elementsEqual(b.name.utf8) && a.value == b.value
  }

  public func hash(into hasher: inout Hasher) {
    UTF8Key(name).hash(into: &hasher)
    value.hash(into: &hasher)
  }
}

extension JSONValue {
  /// The value of an object's member; nil if there is none, or if this is not an object.
  public subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { UTF8Key($0.name) == UTF8Key(name) }?.value
  }

  /// The text of a string; nil for anything else.
  public var string: String? { if case .string(let value) = self { value } else { nil } }

  /// The value of a bool; nil for anything else.
  public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }

  /// The value of an integer; nil for anything else.
  public var int64: Int64? { if case .int64(let value) = self { value } else { nil } }

  /// The value of a number, with integers as the nearest double; nil for anything else.
  public var number: Double? {
    switch self {
    case .int64(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The elements of an array; nil for anything else.
  public var array: [JSONValue]? { if case .array(let values) = self { values } else { nil } }

  /// The members of an object; nil for anything else.
  public var object: [JSONMember]? { if case .object(let members) = self { members } else { nil } }

  /// Whether it is `null`.
  package var isNull: Bool { if case .null = self { true } else { false } }

  /// The kind of the value in words, such as "a string".
  public var kind: String {
    switch self {
    case .null: "null"
    case .bool: "a bool"
    case .int64: "an integer"
    case .double: "a number"
    case .string: "a string"
    case .array: "an array"
    case .object: "an object"
    }
  }
}

extension FieldValue {
  /// Creates the value of a field from JSON. Scalars stay as they are; arrays and objects get their canonical form.
  ///
  /// - Throws: `MalformedError` for a string or a nested value beyond its limits, and for values that the canonical form does not allow.
  package init(_ json: JSONValue) throws(MalformedError) {
    switch json {
    case .null: self = .null
    case .bool(let value): self = .bool(value)
    case .int64(let value): self = .int64(value)
    case .double(let value):
      guard let number = FieldValue.number(value) else { throw MalformedError("a number that is not finite") }
      self = number
    case .string(let text):
      guard text.utf8.count <= Limits.valueBytesMax else {
        throw MalformedError("a string of \(text.utf8.count) bytes, the most is \(Limits.valueBytesMax)")
      }
      self = .string(text)
    case .array, .object: self = .json(try CanonicalJSON(json))
    }
  }

  /// The error for an integer beyond Int64 that no double represents exactly.
  package static func refusal(ofInteger text: String) -> MalformedError {
    MalformedError("the integer \(text), which neither 64 bits nor a double hold exactly; as text it is kept")
  }

  /// The value as JSON. A value of a later format version becomes an object with its tag as `unknownTag` and its bytes in hexadecimal as
  /// `unknownBytes`.
  package var jsonValue: JSONValue {
    switch self {
    case .null: .null
    case .bool(let value): .bool(value)
    case .int64(let value): .int64(value)
    case .double(let value): .double(value)
    case .string(let value): .string(value)
    case .json(let nested): nested.value
    case .unknown(let tag, let bytes):
      .object([
        JSONMember("unknownTag", .int64(Int64(tag))),
        JSONMember("unknownBytes", .string(Hexadecimal.text(bytes))),
      ])
    }
  }
}

extension Field {
  /// Creates a field from a member of a JSON object.
  ///
  /// - Throws: `MalformedError` that names the field, if `FieldValue` rejects the value.
  package init(_ member: JSONMember) throws(MalformedError) {
    do throws(MalformedError) {
      self.init(name: member.name, value: try FieldValue(member.value))
    } catch {
      throw MalformedError("field \"\(member.name)\": \(error.reason)")
    }
  }
}

/// A JSON object or array in the canonical form of RFC 8785: at most `Limits.valueBytesMax` bytes, nested at most `Limits.jsonDepthMax`
/// deep, without integers beyond ±2^53.
///
/// Always canonical, so equal values have equal texts.
public struct CanonicalJSON: Hashable, Sendable {
  /// The canonical text.
  public let text: String

  /// Encodes an array or an object in canonical form.
  ///
  /// - Parameter value: an array or an object.
  /// - Throws: `MalformedError` for a scalar, and for a value that the form or its limits do not allow.
  public init(_ value: JSONValue) throws(MalformedError) {
    switch value {
    case .array, .object: break
    default: throw MalformedError("\(value.kind) where an array or an object should be")
    }
    text = try CanonicalForm.of(value).jsonText
    guard text.utf8.count <= Limits.valueBytesMax else {
      throw MalformedError("a nested value of \(text.utf8.count) bytes, the most is \(Limits.valueBytesMax)")
    }
  }

  /// The largest magnitude of an integer in an array or an object: 2^53. Up to there, doubles distinguish all integers.
  package static let integerMax: UInt64 = 1 << 53

  /// Throws if an array or an object cannot hold the integer exactly.
  package static func check(_ integer: Int64) throws(MalformedError) {
    guard integer.magnitude <= integerMax else {
      throw MalformedError(
        "the number \(integer) in a list or an object, where JSON readers round integers beyond ±2^53; in a field of its own, or "
          + "as text, it is kept")
    }
  }

  /// Creates a value from canonical text.
  ///
  /// - Parameter bytes: the UTF-8 of the text.
  /// - Throws: `MalformedError` if the text is not canonical, byte for byte.
  public init(canonical bytes: UnsafeRawBufferPointer) throws(MalformedError) {
    guard bytes.count <= Limits.valueBytesMax else {
      throw MalformedError("a nested value of \(bytes.count) bytes, the most is \(Limits.valueBytesMax)")
    }
    if Self.isPlainList(bytes, { _ in }) {
      self.init(checked: String(decoding: bytes, as: UTF8.self))
      return
    }
    try self.init(try JSONValue.parse(bytes))
    guard text.withUTF8Bytes({ $0.hasSameBytes(as: bytes) }) else {
      throw MalformedError("a nested value not in canonical form")
    }
  }

  /// Returns whether a text is a list of strings of printable ASCII without escapes, which is always canonical. Most nested values of apps
  /// are such lists; parsing and re-encoding them takes several times as long.
  ///
  /// - Parameter element: gets each string.
  @inline(__always)
  private static func isPlainList(
    _ bytes: UnsafeRawBufferPointer, _ element: (UnsafeRawBufferPointer) -> Void
  ) -> Bool {
    guard bytes.count >= 4, bytes[0] == UInt8(ascii: "["), bytes[bytes.count - 1] == UInt8(ascii: "]") else {
      return false
    }
    let end = bytes.count - 1
    var offset = 1
    while offset < end, bytes[offset] == UInt8(ascii: "\"") {
      offset += 1
      let start = offset
      while offset < end, bytes[offset] != UInt8(ascii: "\"") {
        let byte = bytes[offset]
        guard byte >= 0x20, byte < 0x7F, byte != UInt8(ascii: "\\") else { return false }
        offset += 1
      }
      guard offset < end else { return false }
      element(UnsafeRawBufferPointer(rebasing: bytes[start..<offset]))
      offset += 1
      if offset == end { return true }
      guard bytes[offset] == UInt8(ascii: ",") else { return false }
      offset += 1
    }
    return false
  }

  /// Returns the strings of a plain list: printable ASCII without escapes; nil for any other text.
  package static func plainStrings(_ bytes: UnsafeRawBufferPointer) -> [String]? {
    var strings: [String] = []
    return isPlainList(bytes, { strings.append(String(decoding: $0, as: UTF8.self)) }) ? strings : nil
  }

  /// Creates a value from text that was validated before.
  init(checked text: String) { self.text = text }

  /// Creates a value from canonical text.
  ///
  /// - Parameter text: the text.
  /// - Throws: `MalformedError` if the text is not canonical, byte for byte.
  public init(canonical text: String) throws(MalformedError) {
    self = try Array(text.utf8).withBytes { (bytes) throws(MalformedError) in
      try CanonicalJSON(canonical: bytes)
    }
  }

  /// The array or object that the text encodes.
  ///
  /// The text itself, if it encodes none: a snapshot with correct checksums may say so of any text, and its texts are not parsed when it is
  /// read.
  public var value: JSONValue { (try? JSONValue.parse(text)) ?? .string(text) }

  public static func == (a: CanonicalJSON, b: CanonicalJSON) -> Bool { UTF8Key(a.text) == UTF8Key(b.text) }

  public func hash(into hasher: inout Hasher) { UTF8Key(text).hash(into: &hasher) }
}

/// The form of RFC 8785, which has one text per value: that of the sorted value.
enum CanonicalForm {
  /// Sorts the members of all objects. Throws for values that the form cannot represent (integers beyond ±2^53, NaN and infinity,
  /// duplicate member names), and for values beyond the limits of a field (deep nesting, long strings).
  static func of(_ value: JSONValue, depth: Int = 0) throws(MalformedError) -> JSONValue {
    switch value {
    case .null, .bool: return value
    case .int64(let integer):
      try CanonicalJSON.check(integer)
      return value
    case .double(let number):
      guard let number = JSONValue.number(number) else {
        throw MalformedError("a nested number that is not finite")
      }
      if case .int64(let integer) = number { try CanonicalJSON.check(integer) }
      return number
    case .string(let text):
      try check(text)
      return value
    case .array where depth == Limits.jsonDepthMax, .object where depth == Limits.jsonDepthMax:
      throw MalformedError("a value nested more than \(Limits.jsonDepthMax) deep")
    case .array(let elements):
      return .array(
        try elements.map { (element) throws(MalformedError) in try of(element, depth: depth + 1) })
    case .object(let members):
      let sorted = members.sorted { isBefore($0.name, $1.name) }
      for (name, next) in zip(sorted, sorted.dropFirst()) where name.name.hasSameBytes(as: next.name) {
        throw MalformedError("two members of the name \"\(next.name)\" in one object")
      }
      return .object(
        try sorted.map { (member) throws(MalformedError) in
          try check(member.name)
          return JSONMember(member.name, try of(member.value, depth: depth + 1))
        })
    }
  }

  private static func check(_ text: String) throws(MalformedError) {
    guard text.utf8.count <= Limits.valueBytesMax else {
      throw MalformedError("a string of \(text.utf8.count) bytes, the most is \(Limits.valueBytesMax)")
    }
  }

  /// Orders by UTF-16 code units, computed from UTF-8. This is byte order, except that U+E000 to U+FFFF come after scalars that need
  /// surrogates. In UTF-8 the former begin with 0xEE and 0xEF, the latter with 0xF0 to 0xF4.
  static func isBefore(_ a: String, _ b: String) -> Bool {
    var left = a.utf8.makeIterator()
    var right = b.utf8.makeIterator()
    while let byteOfRight = right.next() {
      guard let byteOfLeft = left.next() else { return true }
      if byteOfLeft != byteOfRight { return rank(byteOfLeft) < rank(byteOfRight) }
    }
    return false
  }

  private static func rank(_ byte: UInt8) -> UInt8 { byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte }
}
