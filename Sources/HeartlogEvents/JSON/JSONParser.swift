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
    try bytes.withUnsafeBufferPointer { (bytes) throws(MalformedError) in
      try parse(UnsafeRawBufferPointer(bytes), depthMax: depthMax)
    }
  }

  /// Parses one JSON text.
  package static func parse(
    _ text: String, depthMax: Int = Limits.jsonDepthMax
  ) throws(MalformedError) -> JSONValue {
    try parse(Array(text.utf8), depthMax: depthMax)
  }
}
