/// Passing over values without parsing them: only quotation marks and brackets are looked at, and nothing recurses.
///
/// This finds where the records of a text are, so that each is parsed on its own, and one that is malformed takes no other with it.
extension JSONParser {
  /// Passes over white space, and then over one byte; stays before another.
  package mutating func take(_ byte: UInt8) -> Bool {
    skipWhitespace()
    guard current == byte else { return false }
    offset += 1
    return true
  }

  /// Passes over a string from its opening quotation mark on.
  ///
  /// - Returns: whether the string has an end.
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

  /// Passes over what stands up to the next comma or closing bracket of its level, or up to the end: a value, where the text is sound.
  ///
  /// - Returns: where it stands, without the white space before it. O(its length).
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
