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

/// The limits of the format. They are the same for every store, so every store accepts what another one accepts.
package enum Limits {
  /// Bytes of a library's name.
  package static let libraryBytesMax = 64
  /// Bytes of an item's id.
  package static let itemBytesMax = 4_096
  /// Bytes of a field's name.
  package static let fieldNameBytesMax = 256
  /// Bytes of one string or of one nested JSON value.
  package static let valueBytesMax = 1 << 20
  /// Levels of nesting in one JSON value.
  package static let jsonDepthMax = 64
  /// Bytes of a commit's origin.
  package static let originBytesMax = 256
  /// Events of a commit.
  package static let commitEventsMax = 50_000
  /// Bytes of a commit in row encoding, before compression.
  package static let commitBytesMax = 16 << 20
  /// Events of a block.
  package static let blockEventsMax = 50_000
  /// Bytes of the row encodings of a block's commits.
  package static let blockRowBytesMax = 16 << 20
  /// Bytes of a block's columns, before compression.
  package static let blockColumnsBytesMax = 64 << 20
  /// Entries of a list of heads, in a commit or at the start of a block.
  package static let headsMax = 4_096
  /// Streams of a store, its own included, beyond which it takes no other. So it can name all that it has seen: see `headsMax`.
  package static let streamsMax = 4_096
  /// The highest commit number and the highest sequence number: 2^53 - 1.
  package static let numberMax: UInt64 = 9_007_199_254_740_991
  /// The last millisecond of the year 2999. Later wall times and stamps are malformed.
  package static let timeMillisecondsMax: Milliseconds = 32_503_679_999_999
  /// The last millisecond of the year 2199. A clock that shows a later time is not trusted, and nothing with a later wall time is written
  /// or received.
  package static let clockMillisecondsMax: Milliseconds = 7_258_118_399_999
  /// The earliest favorited date, in milliseconds since 1970: the start of the year 0000, the first of RFC 3339.
  package static let dateMillisecondsMin: Milliseconds = -62_167_219_200_000
  /// The latest favorited date, in milliseconds since 1970: the end of the year 9999.
  package static let dateMillisecondsMax: Milliseconds = 253_402_300_799_999
}
