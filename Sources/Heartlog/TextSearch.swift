/// A text to search for in many others.
///
/// Texts are compared as `String` does: Character by Character, with canonical equivalence. If the search text is ASCII, as most are, its
/// bytes are searched first, and most texts need not become a string.
package struct TextSearch: Sendable {
  private let options: SearchOptions
  /// The folded search text.
  private let folded: String
  /// The bytes of `folded`, if a byte search is possible.
  private let bytes: FoldedBytes?
  /// Whether the search text is ASCII, or canonically equivalent to ASCII. Any other text cannot occur in ASCII text.
  private let isASCII: Bool

  package init(_ text: String, options: SearchOptions = SearchOptions()) {
    self.options = options
    folded = options.folded(text)
    let scalars = Array(folded.decomposed)
    isASCII = scalars.allSatisfy(\.isASCII)
    // CR followed by LF is a single Character, which bytes do not show.
    let areBytesFound = isASCII && !scalars.isEmpty && !scalars.contains { $0 == "\r" || $0 == "\n" }
    bytes = areBytesFound ? FoldedBytes(scalars.map { UInt8($0.value) }) : nil
  }

  /// Whether the search text is empty, and so occurs in every text.
  var isEmpty: Bool { folded.isEmpty }

  /// Returns whether the search text occurs in a text.
  package func isFound(in text: String) -> Bool {
    var text = text
    return text.withUTF8 { isFound(in: UnsafeRawBufferPointer($0)) }
  }

  /// Returns whether the search text occurs in an item's id or fields, or in the fields that the options name.
  func isFound(in item: ItemState) -> Bool {
    if options.fields == nil, isFound(in: item.id) { return true }
    return item.fields.contains { field in
      options.fields?.contains { $0.hasSameBytes(as: field.name) } ?? true
        && field.value.withBorrowed { isFound(in: $0) }
    }
  }

  /// Returns whether the search text occurs in a value: in a string, or in a string inside a list or an object.
  func isFound(in value: BorrowedValue) -> Bool {
    switch value {
    case .string(let text): return isFound(in: text)
    case .json(let text):
      // JSON contains the bytes of a string unchanged, except for escaped characters.
      if let bytes, !bytes.isEscapedInJSON, !mayBeFoundOtherwise(in: text), !bytes.isFound(in: text) {
        return false
      }
      if !isASCII, text.isASCII { return false }
      return FieldValue(copying: value).jsonValue.holdsText { isFound(in: $0) }
    default: return false
    }
  }

  /// Returns whether the search text occurs in a text of well-formed UTF-8.
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

  /// Returns whether the search text may occur in a text that does not contain its bytes.
  private func mayBeFoundOtherwise(in text: UnsafeRawBufferPointer) -> Bool {
    if !options.diacriticsCount { return !text.isASCII }
    return bytes?.hasEquivalents ?? true && text.holdsEquivalentOfASCII
  }
}

/// Lowercase ASCII bytes, found in either case.
private struct FoldedBytes: Sendable {
  let bytes: [UInt8]
  /// Whether a scalar beyond ASCII folds to one of its Characters: see `holdsEquivalentOfASCII`.
  let hasEquivalents: Bool
  /// Whether JSON escapes one of its characters.
  let isEscapedInJSON: Bool
  private let first: Pattern
  private let last: Pattern

  /// A byte repeated eight times. If it is a letter, `mask` lowercases the compared word.
  private struct Pattern {
    let mask: UInt64
    let word: UInt64

    init(_ byte: UInt8) {
      mask = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? 0x2020_2020_2020_2020 : 0
      word = UInt64(byte) * 0x0101_0101_0101_0101
    }

    /// Sets the high bit of each byte of a word that matches. The bits of bytes above a match may be set as well.
    @inline(__always)
    func matches(_ other: UInt64) -> UInt64 {
      let difference = (other | mask) ^ word
      return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    }
  }

  /// - Parameter bytes: at least one byte.
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
    // The last offset at which a match can begin.
    let end = text.count - bytes.count
    guard end >= 0 else { return false }
    guard end >= 7 else { return (0...end).contains { stands(in: text, at: $0) } }
    var offset = 0
    while true {
      // Compares the first and the last byte at eight offsets at once.
      var found =
        first.matches(UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
        & last.matches(
          UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset + bytes.count - 1, as: UInt64.self)))
      while found != 0 {
        if stands(in: text, at: offset + found.trailingZeroBitCount / 8) { return true }
        found &= found - 1
      }
      if offset == end - 7 { return false }
      // The last eight offsets may overlap the previous eight.
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

  /// Whether the text contains a scalar beyond ASCII that is equivalent to an ASCII scalar, or becomes one in lowercase: the Kelvin sign
  /// U+212A, the Greek question mark U+037E or the varia U+1FEF.
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
  /// Returns whether a string in the value satisfies `isWanted`.
  fileprivate func holdsText(_ isWanted: (String) -> Bool) -> Bool {
    switch self {
    case .string(let text): isWanted(text)
    case .array(let elements): elements.contains { $0.holdsText(isWanted) }
    case .object(let members): members.contains { $0.value.holdsText(isWanted) }
    default: false
    }
  }
}
