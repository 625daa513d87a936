/// Skips values without parsing them: only looks at quotation marks and brackets, and does not recurse.
///
/// Finds the records of a text, so that each can be parsed separately and a malformed one does not affect the others.
extension JSONParser {
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
