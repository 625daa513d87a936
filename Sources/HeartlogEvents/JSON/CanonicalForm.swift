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
