import HeartlogEvents

/// Takes a JSON object apart into its members, leaving each value as its bytes (RFC 8259).
struct JSONMembers {
  struct Malformed: Error, Equatable {
    let reason: String
    /// From 0.
    let offset: Int
  }

  struct Member: Equatable {
    let name: String
    let value: [UInt8]
  }

  private let bytes: [UInt8]
  private var offset = 0

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The members of one object, in their order.
  static func of(_ bytes: [UInt8]) throws(Malformed) -> [Member] {
    var reader = JSONMembers(bytes)
    reader.skipSpace()
    let members = try reader.object()
    try reader.end()
    return members
  }

  /// Refuses all but one JSON value.
  static func checkValue(_ bytes: [UInt8]) throws(Malformed) {
    var reader = JSONMembers(bytes)
    reader.skipSpace()
    try reader.skipValue(depth: 0)
    try reader.end()
  }

  private mutating func object() throws(Malformed) -> [Member] {
    try expect("{")
    skipSpace()
    if take("}") { return [] }
    var members: [Member] = []
    repeat {
      skipSpace()
      let name = try string()
      skipSpace()
      try expect(":")
      skipSpace()
      let start = offset
      try skipValue(depth: 0)
      members.append(Member(name: name, value: Array(bytes[start..<offset])))
      skipSpace()
    } while take(",")
    try expect("}")
    return members
  }

  private mutating func skipValue(depth: Int) throws(Malformed) {
    guard depth <= Limits.jsonDepthMax else { throw malformed("it is nested too deep") }
    switch peek {
    case UInt8(ascii: "{"):
      try skipContainer(closing: "}", depth: depth) { (reader) throws(Malformed) in
        _ = try reader.string()
        reader.skipSpace()
        try reader.expect(":")
        reader.skipSpace()
      }
    case UInt8(ascii: "["): try skipContainer(closing: "]", depth: depth) { (_) throws(Malformed) in }
    case UInt8(ascii: "\""): _ = try string()
    case UInt8(ascii: "t"): try expect("true")
    case UInt8(ascii: "f"): try expect("false")
    case UInt8(ascii: "n"): try expect("null")
    default: try skipNumber()
    }
  }

  private mutating func skipContainer(
    closing: StaticString, depth: Int, before: (inout JSONMembers) throws(Malformed) -> Void
  ) throws(Malformed) {
    offset += 1
    skipSpace()
    if take(closing) { return }
    repeat {
      skipSpace()
      try before(&self)
      try skipValue(depth: depth + 1)
      skipSpace()
    } while take(",")
    try expect(closing)
  }

  private mutating func skipNumber() throws(Malformed) {
    let start = offset
    _ = take("-")
    if !take("0"), skipDigits() == 0 {
      offset = start
      throw malformed(peek == nil ? "it ends too early" : "a value is missing")
    }
    if take("."), skipDigits() == 0 { throw malformed("a digit is missing") }
    if take("e") || take("E") {
      _ = take("+") || take("-")
      if skipDigits() == 0 { throw malformed("a digit is missing") }
    }
  }

  private mutating func skipDigits() -> Int {
    let start = offset
    while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
    return offset - start
  }

  /// A string, its escapes resolved.
  private mutating func string() throws(Malformed) -> String {
    try expect("\"")
    var result: [UInt8] = []
    while let byte = peek {
      offset += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let text = String(validating: result, as: UTF8.self) else { throw malformed("it is not UTF-8") }
        return text
      case UInt8(ascii: "\\"): try result.append(contentsOf: escape())
      case 0..<0x20:
        offset -= 1
        throw malformed("a control character stands in a string")
      default: result.append(byte)
      }
    }
    throw malformed("a string does not end")
  }

  private mutating func escape() throws(Malformed) -> [UInt8] {
    guard let byte = peek else { throw malformed("a string does not end") }
    offset += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"):
      var scalar = try hexadecimal()
      if (0xD800..<0xDC00).contains(scalar), take("\\u") {
        let low = try hexadecimal()
        guard (0xDC00..<0xE000).contains(low) else { throw malformed("a surrogate stands alone") }
        scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
      }
      guard let scalar = Unicode.Scalar(scalar) else { throw malformed("a surrogate stands alone") }
      return Array(String(Character(scalar)).utf8)
    default:
      offset -= 1
      throw malformed("an escape is unknown")
    }
  }

  private mutating func hexadecimal() throws(Malformed) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
        throw malformed("a hexadecimal digit is missing")
      }
      offset += 1
      value = value << 4 | UInt32(digit)
    }
    return value
  }

  private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private mutating func skipSpace() {
    while let byte = peek, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { offset += 1 }
  }

  private mutating func take(_ text: StaticString) -> Bool {
    let wanted = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    guard bytes[offset...].starts(with: wanted) else { return false }
    offset += wanted.count
    return true
  }

  private mutating func expect(_ text: StaticString) throws(Malformed) {
    guard take(text) else {
      throw malformed(peek == nil ? "it ends too early" : "\(text) is expected")
    }
  }

  private func end() throws(Malformed) {
    var reader = self
    reader.skipSpace()
    guard reader.offset == bytes.count else { throw reader.malformed("more follows") }
  }

  private func malformed(_ reason: String) -> Malformed { Malformed(reason: reason, offset: offset) }
}
