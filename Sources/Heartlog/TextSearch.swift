/// A text that is looked for in many others.
///
/// Texts are compared as `String` does: Character by Character, canonically equivalent ones for equal. Where the text that is looked for
/// is ASCII, as most are, its bytes are looked for first, and most texts need no string for that.
package struct TextSearch: Sendable {
  private let options: SearchOptions
  /// As it is compared.
  private let folded: String
  /// The bytes of `folded` where they can be looked for.
  private let bytes: FoldedBytes?
  /// Whether it is of ASCII alone, or equivalent to such a text: no other text is found in one of ASCII.
  private let isASCII: Bool

  package init(_ text: String, options: SearchOptions = SearchOptions()) {
    self.options = options
    folded = options.folded(text)
    let scalars = Array(folded.decomposed)
    isASCII = scalars.allSatisfy(\.isASCII)
    // CR and LF are one Character where they follow each other: bytes do not tell.
    let areBytesFound = isASCII && !scalars.isEmpty && !scalars.contains { $0 == "\r" || $0 == "\n" }
    bytes = areBytesFound ? FoldedBytes(scalars.map { UInt8($0.value) }) : nil
  }

  /// Whether every text holds it.
  var isEmpty: Bool { folded.isEmpty }

  /// Whether a text holds it.
  package func isFound(in text: String) -> Bool {
    var text = text
    return text.withUTF8 { isFound(in: UnsafeRawBufferPointer($0)) }
  }

  /// Whether an item holds it in its id or its fields, or in those that the options name.
  func isFound(in item: ItemState) -> Bool {
    if options.fields == nil, isFound(in: item.id) { return true }
    return item.fields.contains { field in
      options.fields?.contains { $0.hasSameBytes(as: field.name) } ?? true
        && field.value.withBorrowed { isFound(in: $0) }
    }
  }

  /// Whether a value holds it: a string, or a string in a list or an object.
  func isFound(in value: BorrowedValue) -> Bool {
    switch value {
    case .string(let text): return isFound(in: text)
    case .json(let text):
      // A string stands in JSON as it is, but for what is escaped.
      if let bytes, !bytes.isEscapedInJSON, !mayBeFoundOtherwise(in: text), !bytes.isFound(in: text) {
        return false
      }
      if !isASCII, text.isASCII { return false }
      return FieldValue(copying: value).jsonValue.holdsText { isFound(in: $0) }
    default: return false
    }
  }

  /// Whether a text of well-formed UTF-8 holds it.
  private func isFound(in text: UnsafeRawBufferPointer) -> Bool {
    if isEmpty { return true }
    if let bytes {
      let isThere = options.match == .prefix ? bytes.isPrefix(of: text) : bytes.isFound(in: text)
      if text.isASCII { return isThere }
      if !isThere, !mayBeFoundOtherwise(in: text) { return false }
    } else if !isASCII, text.isASCII {
      return false
    }
    return options.matches(folded, in: String(decoding: text, as: UTF8.self))
  }

  /// Whether a text may hold what is looked for though it does not hold the bytes.
  private func mayBeFoundOtherwise(in text: UnsafeRawBufferPointer) -> Bool {
    if !options.diacriticsCount { return !text.isASCII }
    return bytes?.hasEquivalents ?? true && text.holdsEquivalentOfASCII
  }
}

/// ASCII in small letters, to be looked for in capitals or not.
private struct FoldedBytes: Sendable {
  let bytes: [UInt8]
  /// Whether a scalar beyond ASCII is one of its Characters when it is folded: see `holdsEquivalentOfASCII`.
  let hasEquivalents: Bool
  /// Whether some of it stands otherwise in JSON.
  let isEscapedInJSON: Bool
  private let first: Pattern
  private let last: Pattern

  /// A byte in eight places, capitals made small where it is a letter.
  private struct Pattern {
    let mask: UInt64
    let word: UInt64

    init(_ byte: UInt8) {
      mask = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? 0x2020_2020_2020_2020 : 0
      word = UInt64(byte) * 0x0101_0101_0101_0101
    }

    /// The high bit of each byte of a word that is the pattern's; behind such a byte, those of others may be set too.
    @inline(__always)
    func matches(_ other: UInt64) -> UInt64 {
      let difference = (other | mask) ^ word
      return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    }
  }

  /// - Parameter bytes: at least one.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    hasEquivalents = bytes.contains {
      $0 == UInt8(ascii: "k") || $0 == UInt8(ascii: ";") || $0 == UInt8(ascii: "`")
    }
    isEscapedInJSON = bytes.contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
    first = Pattern(bytes[0])
    last = Pattern(bytes[bytes.count - 1])
  }

  func isPrefix(of text: UnsafeRawBufferPointer) -> Bool {
    text.count >= bytes.count && stands(in: text, at: 0)
  }

  func isFound(in text: UnsafeRawBufferPointer) -> Bool {
    // The last offset at which it may stand.
    let end = text.count - bytes.count
    guard end >= 0 else { return false }
    guard end >= 7 else { return (0...end).contains { stands(in: text, at: $0) } }
    var offset = 0
    while true {
      // Eight offsets at once, by the first and the last byte.
      var found =
        first.matches(UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
        & last.matches(
          UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset + bytes.count - 1, as: UInt64.self)))
      while found != 0 {
        if stands(in: text, at: offset + found.trailingZeroBitCount / 8) { return true }
        found &= found - 1
      }
      if offset == end - 7 { return false }
      // The last eight may overlap those before them.
      offset = min(offset + 8, end - 7)
    }
  }

  @inline(__always)
  private func stands(in text: UnsafeRawBufferPointer, at offset: Int) -> Bool {
    for index in bytes.indices {
      let byte = text[offset + index]
      let small = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
      if small != bytes[index] { return false }
    }
    return true
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var isASCII: Bool {
    var offset = 0
    while offset + 8 <= count {
      if loadUnaligned(fromByteOffset: offset, as: UInt64.self) & 0x8080_8080_8080_8080 != 0 { return false }
      offset += 8
    }
    return self[offset...].allSatisfy { $0 < 0x80 }
  }

  /// Whether one of the scalars beyond ASCII is here that are equivalent to one of ASCII, or become one as a small letter: the Kelvin sign
  /// U+212A, the Greek question mark U+037E and the varia U+1FEF.
  fileprivate var holdsEquivalentOfASCII: Bool {
    for index in indices where self[index] >= 0x80 {
      switch self[index] {
      case 0xCD: if index + 1 < count, self[index + 1] == 0xBE { return true }
      case 0xE1:
        if index + 2 < count, self[index + 1] == 0xBF, self[index + 2] == 0xAF { return true }
      case 0xE2:
        if index + 2 < count, self[index + 1] == 0x84, self[index + 2] == 0xAA { return true }
      default: break
      }
    }
    return false
  }
}

extension JSONValue {
  /// Whether a string in it is one that `isWanted`.
  fileprivate func holdsText(_ isWanted: (String) -> Bool) -> Bool {
    switch self {
    case .string(let text): isWanted(text)
    case .array(let elements): elements.contains { $0.holdsText(isWanted) }
    case .object(let members): members.contains { $0.value.holdsText(isWanted) }
    default: false
    }
  }
}
