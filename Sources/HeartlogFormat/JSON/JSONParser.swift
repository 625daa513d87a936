/// A strict, single-pass parser of RFC 8259 over bytes.
///
/// It rejects what the RFC leaves open: duplicate names, lone surrogates, a byte order mark, numbers that overflow. It never reads outside
/// `bytes`: every access is preceded by a comparison with its count.
package struct JSONParser {
  let bytes: UnsafeRawBufferPointer
  let depthMax: Int
  /// The next byte to read.
  package var offset = 0
  /// The member names that lead to a value that is valid JSON but was rejected; nil if none was.
  var refusedPath: [Substring]?

  /// Creates a parser of `bytes`, which must outlive it.
  package init(_ bytes: UnsafeRawBufferPointer, depthMax: Int) {
    self.bytes = bytes
    self.depthMax = depthMax
  }

  /// Parses the single value of the text.
  mutating func document() throws(MalformedError) -> JSONValue {
    let value: JSONValue
    do throws(MalformedError) { value = try self.value(depth: 0) } catch {
      guard let path = refusedPath, !path.isEmpty else { throw error }
      throw MalformedError("at \(path.joined(separator: ".")): \(error.reason)")
    }
    skipWhitespace()
    guard offset == bytes.count else { throw malformed("something after the end of the JSON value") }
    return value
  }

  /// The byte at `offset`; at the end 0, which never occurs in JSON.
  @inline(__always)
  package var current: UInt8 { offset < bytes.count ? bytes[offset] : 0 }

  @inline(__always)
  package mutating func skipWhitespace() {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x0A, 0x0D, 0x09: offset += 1
      default: return
      }
    }
  }

  func malformed(_ what: String, at position: Int? = nil) -> MalformedError {
    MalformedError("\(what), at byte offset \(position ?? offset)")
  }

  /// The error for an unexpected byte, or the end, at `offset`.
  func unexpected(_ wanted: String) -> MalformedError {
    guard offset < bytes.count else { return malformed("the JSON text ends where \(wanted) should be") }
    let byte = bytes[offset]
    let what =
      byte > 0x20 && byte < 0x7F
      ? "'\(Unicode.Scalar(byte))'" : "the byte 0x\(Hexadecimal.text([byte]))"
    return malformed("\(what) where \(wanted) should be")
  }

  private mutating func value(depth: Int) throws(MalformedError) -> JSONValue {
    skipWhitespace()
    switch current {
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "{"): return try object(depth: depth + 1)
    case UInt8(ascii: "["): return try array(depth: depth + 1)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: throw unexpected("a value")
    }
  }

  private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(MalformedError) -> JSONValue
  {
    let count = word.utf8CodeUnitCount
    let text = UnsafeRawBufferPointer(start: word.utf8Start, count: count)
    guard bytes.count - offset >= count, bytes[offset..<offset + count].elementsEqual(text) else {
      throw malformed("a word that is neither true nor false nor null")
    }
    offset += count
    return value
  }

  private mutating func array(depth: Int) throws(MalformedError) -> JSONValue {
    guard depth <= depthMax else { throw malformed("a value nested more than \(depthMax) deep") }
    offset += 1
    skipWhitespace()
    var elements: [JSONValue] = []
    if current == UInt8(ascii: "]") {
      offset += 1
      return .array(elements)
    }
    while true {
      elements.append(try value(depth: depth))
      skipWhitespace()
      switch current {
      case UInt8(ascii: ","): offset += 1
      case UInt8(ascii: "]"):
        offset += 1
        return .array(elements)
      default: throw unexpected("',' or ']'")
      }
    }
  }

  private mutating func object(depth: Int) throws(MalformedError) -> JSONValue {
    guard depth <= depthMax else { throw malformed("a value nested more than \(depthMax) deep") }
    offset += 1
    skipWhitespace()
    var members: [JSONMember] = []
    if current == UInt8(ascii: "}") {
      offset += 1
      return .object(members)
    }
    members.reserveCapacity(8)
    var names: Set<UTF8Key> = []
    while true {
      let nameOffset = offset
      guard current == UInt8(ascii: "\"") else { throw unexpected("a member's name") }
      let name = try string()
      guard isNew(name, among: members, &names) else {
        throw malformed("a second member of the same name", at: nameOffset)
      }
      skipWhitespace()
      guard current == UInt8(ascii: ":") else { throw unexpected("':'") }
      offset += 1
      do throws(MalformedError) { members.append(JSONMember(name, try value(depth: depth))) } catch {
        refusedPath?.insert(name.prefix(64), at: 0)
        throw error
      }
      skipWhitespace()
      switch current {
      case UInt8(ascii: ","):
        offset += 1
        skipWhitespace()
      case UInt8(ascii: "}"):
        offset += 1
        return .object(members)
      default: throw unexpected("',' or '}'")
      }
    }
  }

  /// Compares the names one by one in small objects. A set keeps large objects linear.
  private func isNew(_ name: String, among members: [JSONMember], _ names: inout Set<UTF8Key>) -> Bool {
    let comparedMax = 16
    let key = UTF8Key(name)
    if members.count < comparedMax { return !members.contains { UTF8Key($0.name) == key } }
    if members.count == comparedMax { for member in members { names.insert(UTF8Key(member.name)) } }
    return names.insert(key).inserted
  }
}

extension JSONValue {
  /// Parses one JSON text.
  ///
  /// - Parameter depthMax: the maximum depth of nesting, including the outermost array or object. A line that contains a value of the full
  ///   depth needs more than the default.
  /// - Throws: `MalformedError` with the byte offset; also for strings of more than `Limits.valueBytesMax`.
  package static func parse(
    _ bytes: UnsafeRawBufferPointer, depthMax: Int = Limits.jsonDepthMax
  ) throws(MalformedError) -> JSONValue {
    var parser = JSONParser(bytes, depthMax: depthMax)
    return try parser.document()
  }

  /// Parses one JSON text.
  package static func parse(
    _ bytes: [UInt8], depthMax: Int = Limits.jsonDepthMax
  ) throws(MalformedError) -> JSONValue {
    try bytes.withBytes { (bytes) throws(MalformedError) in try parse(bytes, depthMax: depthMax) }
  }

  /// Parses one JSON text.
  package static func parse(
    _ text: String, depthMax: Int = Limits.jsonDepthMax
  ) throws(MalformedError) -> JSONValue {
    try parse(Array(text.utf8), depthMax: depthMax)
  }
}

extension JSONParser {
  /// Reads a string, from its opening quotation mark at `offset` to after its closing one.
  ///
  /// A string without escapes, as nearly all are, is copied once. Pure ASCII is not validated.
  package mutating func string() throws(MalformedError) -> String {
    let start = offset + 1
    var end = start
    var union: UInt8 = 0
    while end < bytes.count {
      let byte = bytes[end]
      if byte == UInt8(ascii: "\"") {
        let utf8 = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
        let text = try text(utf8, isASCII: union < 0x80, from: start)
        offset = end + 1
        return text
      }
      if byte == UInt8(ascii: "\\") { return try escapedString(start: start, firstEscape: end) }
      guard byte >= 0x20 else { throw malformed("a control character in a string", at: end) }
      union |= byte
      end += 1
    }
    throw malformed("a string without an end", at: offset)
  }

  private func text(
    _ utf8: UnsafeRawBufferPointer, isASCII: Bool, from start: Int
  ) throws(MalformedError) -> String {
    guard utf8.count <= Limits.valueBytesMax else {
      throw malformed("a string of more than \(Limits.valueBytesMax) bytes", at: start)
    }
    if isASCII { return String(decoding: utf8, as: UTF8.self) }
    guard let text = String(validating: utf8, as: UTF8.self) else {
      throw malformed("a string that is not UTF-8", at: start)
    }
    return text
  }

  private mutating func escapedString(start: Int, firstEscape: Int) throws(MalformedError) -> String {
    var decoded: [UInt8] = []
    decoded.reserveCapacity(firstEscape - start + 64)
    decoded.append(contentsOf: bytes[start..<firstEscape])
    offset = firstEscape
    while offset < bytes.count {
      let byte = bytes[offset]
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        return try decoded.withBytes { (utf8) throws(MalformedError) in
          try text(utf8, isASCII: false, from: start)
        }
      case UInt8(ascii: "\\"):
        try escape(into: &decoded)
      case ..<0x20:
        throw malformed("a control character in a string")
      default:
        decoded.append(byte)
        offset += 1
      }
    }
    throw malformed("a string without an end", at: start - 1)
  }

  /// Reads one escape, or both escapes of a surrogate pair, from the backslash at `offset`.
  private mutating func escape(into decoded: inout [UInt8]) throws(MalformedError) {
    let start = offset
    offset += 1
    let letter = current
    offset += 1
    switch letter {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): decoded.append(letter)
    case UInt8(ascii: "b"): decoded.append(0x08)
    case UInt8(ascii: "f"): decoded.append(0x0C)
    case UInt8(ascii: "n"): decoded.append(0x0A)
    case UInt8(ascii: "r"): decoded.append(0x0D)
    case UInt8(ascii: "t"): decoded.append(0x09)
    case UInt8(ascii: "u"):
      let unit = try hexadecimal(escapeAt: start)
      var code = UInt32(unit)
      if (0xD800..<0xDC00).contains(unit), current == UInt8(ascii: "\\") {
        offset += 1
        guard current == UInt8(ascii: "u") else { throw malformed("a lone surrogate", at: start) }
        offset += 1
        let low = try hexadecimal(escapeAt: start)
        guard (0xDC00..<0xE000).contains(low) else { throw malformed("a lone surrogate", at: start) }
        code = 0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(code) else { throw malformed("a lone surrogate", at: start) }
      decoded.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
    default: throw malformed("an escape that JSON does not have", at: start)
    }
  }

  private mutating func hexadecimal(escapeAt start: Int) throws(MalformedError) -> UInt16 {
    guard bytes.count - offset >= 4 else { throw malformed("an escape without its four digits", at: start) }
    var unit: UInt16 = 0
    for byte in bytes[offset..<offset + 4] {
      guard let digit = Hexadecimal.value(of: byte) else {
        throw malformed("an escape without its four digits", at: start)
      }
      unit = unit << 4 | UInt16(digit)
    }
    offset += 4
    return unit
  }

  /// The maximum length of a number: more than twice what distinguishes any double from its neighbours.
  private static let numberBytesMax = 4_096

  /// Reads a number. An integer keeps its exact value: within Int64 no double is involved; beyond it, only the form in which RFC 8785
  /// writes a double is accepted. A number with a fraction or an exponent becomes the nearest double, or an int64 if `Int64(exactly:)`
  /// accepts that.
  mutating func number() throws(MalformedError) -> JSONValue {
    let start = offset
    if current == UInt8(ascii: "-") { offset += 1 }
    let first = offset
    try digits()
    guard offset == first + 1 || bytes[first] != UInt8(ascii: "0") else {
      throw malformed("a number with a leading zero", at: first)
    }
    var isInteger = true
    if current == UInt8(ascii: ".") {
      isInteger = false
      offset += 1
      try digits()
    }
    if current | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      offset += 1
      if current == UInt8(ascii: "-") || current == UInt8(ascii: "+") { offset += 1 }
      try digits()
    }
    guard offset - start <= Self.numberBytesMax else {
      throw malformed("a number of more than \(Self.numberBytesMax) digits", at: start)
    }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if isInteger, let integer = Int64(text) { return .int64(integer) }
    guard let value = Double(text).flatMap(JSONValue.number) else {
      throw malformed("a number too large for a double", at: start)
    }
    guard !isInteger || value.jsonText == text else {
      refusedPath = []
      throw malformed(FieldValue.refusal(ofInteger: text).reason, at: start)
    }
    return value
  }

  /// Skips one or more digits.
  private mutating func digits() throws(MalformedError) {
    let start = offset
    while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(current) { offset += 1 }
    guard offset > start else { throw unexpected("a digit") }
  }

  // Skips values without parsing them: only looks at quotation marks and brackets, and does not recurse.
  //
  // Finds the records of a text, so that each can be parsed separately and a malformed one does not affect the others.

  /// Skips white space and then one byte. Stays in front of any other byte.
  package mutating func take(_ byte: UInt8) -> Bool {
    skipWhitespace()
    guard current == byte else { return false }
    offset += 1
    return true
  }

  /// Skips a string, starting at its opening quotation mark.
  ///
  /// - Returns: whether the string is terminated.
  package mutating func skipString() -> Bool {
    offset += 1
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        offset += 1
        return true
      case UInt8(ascii: "\\"): offset = min(offset + 2, bytes.count)
      default: offset += 1
      }
    }
    return false
  }

  /// Skips to the next comma or closing bracket of the same level, or to the end. In well-formed text this skips a value.
  ///
  /// - Returns: the range of the skipped text, without leading white space. O(its length).
  package mutating func skipValue() -> Range<Int> {
    skipWhitespace()
    let start = offset
    var depth = 0
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        _ = skipString()
        continue
      case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        if depth == 0 { return start..<offset }
        depth -= 1
      case UInt8(ascii: ","):
        if depth == 0 { return start..<offset }
      default: break
      }
      offset += 1
    }
    return start..<offset
  }
}
