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
        return try decoded.withUnsafeBufferPointer { (utf8) throws(MalformedError) in
          try text(UnsafeRawBufferPointer(utf8), isASCII: false, from: start)
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
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
      default: throw malformed("an escape without its four digits", at: start)
      }
      unit = unit << 4 | UInt16(digit)
    }
    offset += 4
    return unit
  }
}
