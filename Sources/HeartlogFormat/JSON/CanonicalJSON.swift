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
    var form = CanonicalForm()
    try form.append(value)
    guard form.bytes.count <= Limits.valueBytesMax else {
      throw MalformedError(
        "a nested value of \(form.bytes.count) bytes, the most is \(Limits.valueBytesMax)")
    }
    text = String(decoding: form.bytes, as: UTF8.self)
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

  /// Creates a value from canonical text.
  ///
  /// - Parameter bytes: the UTF-8 of the text.
  /// - Throws: `MalformedError` if the text is not canonical, byte for byte.
  public init(canonical bytes: [UInt8]) throws(MalformedError) {
    self = try bytes.withUnsafeBufferPointer { (bytes) throws(MalformedError) in
      try CanonicalJSON(canonical: UnsafeRawBufferPointer(bytes))
    }
  }

  /// Creates a value from text that was validated before.
  init(checked text: String) { self.text = text }

  /// Creates a value from canonical text.
  ///
  /// - Parameter text: the text.
  /// - Throws: `MalformedError` if the text is not canonical, byte for byte.
  public init(canonical text: String) throws(MalformedError) { try self.init(canonical: Array(text.utf8)) }

  /// The array or object that the text encodes.
  ///
  /// The text itself, if it encodes none: a snapshot with correct checksums may say so of any text, and its texts are not parsed when it is
  /// read.
  public var value: JSONValue { (try? JSONValue.parse(text)) ?? .string(text) }

  public static func == (a: CanonicalJSON, b: CanonicalJSON) -> Bool { UTF8Key(a.text) == UTF8Key(b.text) }

  public func hash(into hasher: inout Hasher) { UTF8Key(text).hash(into: &hasher) }
}

/// Encodes JSON in the form of RFC 8785, which has one text per value.
struct CanonicalForm {
  private(set) var bytes: [UInt8] = []

  /// Appends `value`. Throws for values that the form cannot represent (integers beyond ±2^53, NaN and infinity, duplicate member names),
  /// and for values beyond the limits of a field (deep nesting, long strings).
  mutating func append(_ value: JSONValue, depth: Int = 0) throws(MalformedError) {
    switch value {
    case .null, .bool: value.appendJSON(to: &bytes)
    case .int64(let integer):
      try CanonicalJSON.check(integer)
      JSONText.append(integer, to: &bytes)
    case .double(let number):
      guard let number = JSONValue.number(number) else {
        throw MalformedError("a nested number that is not finite")
      }
      if case .int64 = number { try append(number, depth: depth) } else { number.appendJSON(to: &bytes) }
    case .string(let text): try append(text)
    case .array(let elements):
      try check(depth: depth + 1)
      bytes.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        try append(element, depth: depth + 1)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      try check(depth: depth + 1)
      try append(members, depth: depth + 1)
    }
  }

  private mutating func append(_ members: [JSONMember], depth: Int) throws(MalformedError) {
    let sorted = members.sorted { Self.isBefore($0.name, $1.name) }
    bytes.append(UInt8(ascii: "{"))
    for (index, member) in sorted.enumerated() {
      if index > 0 {
        guard UTF8Key(member.name) != UTF8Key(sorted[index - 1].name) else {
          throw MalformedError("two members of the name \"\(member.name)\" in one object")
        }
        bytes.append(UInt8(ascii: ","))
      }
      try append(member.name)
      bytes.append(UInt8(ascii: ":"))
      try append(member.value, depth: depth)
    }
    bytes.append(UInt8(ascii: "}"))
  }

  private mutating func append(_ text: String) throws(MalformedError) {
    guard text.utf8.count <= Limits.valueBytesMax else {
      throw MalformedError("a string of \(text.utf8.count) bytes, the most is \(Limits.valueBytesMax)")
    }
    JSONText.append(text, to: &bytes)
  }

  private func check(depth: Int) throws(MalformedError) {
    guard depth <= Limits.jsonDepthMax else {
      throw MalformedError("a value nested more than \(Limits.jsonDepthMax) deep")
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
