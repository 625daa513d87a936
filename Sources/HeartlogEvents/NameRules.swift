/// The rules for the names of libraries, items, fields and origins.
package enum NameRules {
  /// Throws unless a library name is valid: 1 to 64 bytes of a–z, 0–9, `-`, `_` and `.`.
  package static func checkLibrary(_ name: String) throws(MalformedError) {
    try MalformedError.check(name.withUTF8Bytes(libraryProblem))
  }

  /// Throws unless an item id is valid: 1 to 4,096 bytes of UTF-8 without control characters.
  package static func checkItem(_ id: String) throws(MalformedError) {
    try MalformedError.check(id.withUTF8Bytes(itemProblem))
  }

  /// Throws unless a field name is valid: 1 to 256 bytes of UTF-8 without control characters.
  package static func checkFieldName(_ name: String) throws(MalformedError) {
    try MalformedError.check(name.withUTF8Bytes(fieldNameProblem))
  }

  /// Throws unless an origin is valid: 1 to 256 bytes of UTF-8 without control characters.
  package static func checkOrigin(_ origin: String) throws(MalformedError) {
    try MalformedError.check(origin.withUTF8Bytes(originProblem))
  }

  // These return what is wrong with a name whose bytes are well-formed UTF-8; nil if nothing is.

  static func itemProblem(_ id: UnsafeRawBufferPointer) -> String? {
    problem(id, "an item id", most: Limits.itemBytesMax)
  }

  static func fieldNameProblem(_ name: UnsafeRawBufferPointer) -> String? {
    problem(name, "a field name", most: Limits.fieldNameBytesMax)
  }

  static func originProblem(_ origin: UnsafeRawBufferPointer) -> String? {
    problem(origin, "an origin", most: Limits.originBytesMax)
  }

  static func libraryProblem(_ bytes: UnsafeRawBufferPointer) -> String? {
    if bytes.isEmpty { return "an empty library name" }
    if bytes.count > Limits.libraryBytesMax {
      return "a library name of \(bytes.count) bytes, the most is \(Limits.libraryBytesMax)"
    }
    for byte in bytes {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        continue
      default:
        return "a library name with something else than a–z, 0–9, -, _ and ."
      }
    }
    return nil
  }

  private static func problem(_ bytes: UnsafeRawBufferPointer, _ what: String, most: Int) -> String? {
    if bytes.isEmpty { return "\(what) that is empty" }
    if bytes.count > most { return "\(what) of \(bytes.count) bytes, the most is \(most)" }
    return hasControlCharacter(bytes) ? "\(what) with a control character" : nil
  }

  /// U+0000–U+001F and U+007F are one byte; U+0080–U+009F are C2 and a byte below A0.
  private static func hasControlCharacter(_ bytes: UnsafeRawBufferPointer) -> Bool {
    if bytes.isPrintableASCII { return false }
    var before: UInt8 = 0
    for byte in bytes {
      if byte < 0x20 || byte == 0x7F || (before == 0xC2 && byte < 0xA0) { return true }
      before = byte
    }
    return false
  }
}
