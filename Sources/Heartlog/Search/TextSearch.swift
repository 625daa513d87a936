import HeartlogFormat

/// How a search compares texts, and which ones it looks at.
public struct SearchOptions: Sendable {
  /// Whether case and diacritics matter. By default they do not: "sao" finds "São", "strasse" finds "Straße", and "lodz" finds "Łódź".
  public var isExact = false
  /// The fields to search, whatever they hold, with numbers in decimal; `id` is the item's id. If nil, the id and all fields, but only texts
  /// that people read: no dates, addresses, UUIDs and numbers.
  public var fields: [String]?

  /// Creates search options. By default, a search finds substrings in all texts of an item that people read, without regard to case and
  /// diacritics.
  ///
  /// - Parameters:
  ///   - isExact: whether case and diacritics matter.
  ///   - fields: the fields to search, whatever they hold; if nil, the id and all fields, but only texts that people read.
  public init(isExact: Bool = false, fields: [String]? = nil) {
    self.isExact = isExact
    self.fields = fields
  }
}

extension FavoritesLibrary {
  /// Returns the favorites that contain a text, newest first by default. An empty text matches all of them.
  ///
  /// - Parameters:
  ///   - text: the text to search for.
  ///   - options: how texts are compared.
  ///   - order: the order of the result.
  /// - Complexity: O(favorites × their text).
  public func search(
    _ text: String, options: SearchOptions = SearchOptions(), order: ListOrder = .newestFirst
  ) -> [ItemState] {
    let search = TextSearch(text, options: options)
    guard !search.isEmpty else { return favorites(order: order) }
    // The published state has neither local fields nor the changes of a closure.
    let searchesLocal = options.fields.map { !localFields.isDisjoint(with: $0) } ?? !localFields.isEmpty
    if searchesLocal || WriteTransaction.joined(by: store) != nil {
      return favorites(order: order).filter { search.isFound(in: $0) }
    }
    let found = store.read { state in
      state.favorites(
        in: name, order: order, textsOf: options.fields,
        idWhere: search.searchesIDs ? { search.isFound(inID: $0) } : nil, where: { search.isFound(in: $0) })
    }
    return withLocalValues(found)
  }
}

/// A text to search for in many others.
///
/// Without regard to case and diacritics, texts are compared by the bytes of their folded form: see `FoldedScalar`. If the search text is
/// ASCII, as most are, its bytes are searched eight at a time, and only what stands around other scalars is folded.
///
/// An exact search compares as `String` does: Character by Character, with canonical equivalence.
package struct TextSearch: Sendable {
  let options: SearchOptions
  let text: String
  /// The bytes to find: folded, or for an exact search decomposed.
  private let bytes: [UInt8]
  /// Finds `bytes` in ASCII; nil if they occur in no ASCII text.
  private let pattern: ASCIIPattern?

  package init(_ text: String, options: SearchOptions = SearchOptions()) {
    self.options = options
    self.text = text
    if options.isExact {
      bytes = Array(String(String.UnicodeScalarView(text.decomposed)).utf8)
    } else {
      bytes = text.unicodeScalars.flatMap { FoldedScalar.bytes(of: $0.value) }
    }
    pattern =
      bytes.allSatisfy { $0 < 0x80 } && !bytes.isEmpty
      ? ASCIIPattern(bytes, ignoresCase: !options.isExact) : nil
  }

  /// Whether the search text is empty, and so occurs in every text.
  package var isEmpty: Bool { bytes.isEmpty }

  // MARK: - Items

  /// Returns whether the search text occurs in an item: in its id and its fields, as the options say.
  package func isFound(in item: ItemState) -> Bool {
    if searchesIDs, isFound(inID: item.id) { return true }
    return item.fields.contains { field in
      options.fields?.contains { $0.hasSameBytes(as: field.name) } ?? true
        && field.value.withBorrowed { isFound(in: $0) }
    }
  }

  /// Whether the ids of items are searched.
  var searchesIDs: Bool { options.fields?.contains("id") ?? true }

  /// Returns whether the search text occurs in an item's id.
  func isFound(inID id: String) -> Bool {
    var id = id
    return id.withUTF8 { isFound(inID: UnsafeRawBufferPointer($0)) }
  }

  func isFound(inID id: UnsafeRawBufferPointer) -> Bool {
    isFound(in: id) && (options.fields != nil || id.isReadByPeople && !id.isNumber)
  }

  /// Returns whether the search text occurs in a field's value: in a string, or in a string inside a list or an object.
  func isFound(in value: BorrowedValue) -> Bool {
    switch value {
    case .string(let text): return isFound(in: text) && isSearched(text)
    case .json(let text):
      // JSON contains the bytes of a string unchanged, except for escaped characters.
      if !options.isExact, !bytes.isEscapedInJSON, !isFoundFolded(in: text) { return false }
      return FieldValue(copying: value).jsonValue.holdsText { text in
        var text = text
        return text.withUTF8 {
          let bytes = UnsafeRawBufferPointer($0)
          return isFound(in: bytes) && isSearched(bytes)
        }
      }
    case .null, .unknown: return false
    case .bool, .int64, .double:
      return options.fields != nil && isFound(in: FieldValue(copying: value).jsonValue.jsonText)
    }
  }

  private func isSearched(_ text: UnsafeRawBufferPointer) -> Bool {
    options.fields != nil || text.isReadByPeople
  }

  // MARK: - Texts

  /// Returns whether the search text occurs in a text.
  package func isFound(in text: String) -> Bool {
    var text = text
    return text.withUTF8 { isFound(in: UnsafeRawBufferPointer($0)) }
  }

  /// Returns whether the search text occurs in a text of well-formed UTF-8.
  private func isFound(in text: UnsafeRawBufferPointer) -> Bool {
    options.isExact ? isFoundExactly(in: text) : isFoundFolded(in: text)
  }

  private func isFoundExactly(in text: UnsafeRawBufferPointer) -> Bool {
    if isEmpty { return true }
    // CR followed by LF is a single Character, which bytes do not show.
    if text.isASCII, !bytes.contains(where: { $0 == 0x0D || $0 == 0x0A }) {
      return pattern?.isFound(in: text) ?? false
    }
    return String(decoding: text, as: UTF8.self).firstRange(of: self.text) != nil
  }

  private func isFoundFolded(in text: UnsafeRawBufferPointer) -> Bool {
    if isEmpty { return true }
    if let pattern, pattern.isFound(in: text) { return true }
    // Any other match covers a scalar that is not ASCII. Whatever begins before `tried` was tried.
    var tried = 0
    var offset = text.firstNonASCII(from: 0)
    while offset < text.count {
      if pattern != nil, FoldedScalar.isNeverASCII(text[offset]) {
        // No match crosses it.
        offset += 1
      } else {
        for start in max(tried, offset - bytes.count + 1)..<offset where stands(in: text, at: start) {
          return true
        }
        let (folded, byteCount) = FoldedScalar.at(offset, in: text)
        for index in 0..<folded.count
        where folded[index] == bytes[0] && stands(in: text, at: offset, skipping: index) { return true }
        offset += byteCount
      }
      tried = offset
      if offset < text.count, text[offset] < 0x80 { offset = text.firstNonASCII(from: offset) }
    }
    return false
  }

  /// Returns whether the text from an offset on begins, when it is folded, with the search text.
  ///
  /// - Parameter skipping: the number of bytes to skip of the first folded scalar.
  private func stands(in text: UnsafeRawBufferPointer, at start: Int, skipping: Int = 0) -> Bool {
    var (offset, skipping, matched) = (start, skipping, 0)
    while matched < bytes.count {
      guard offset < text.count else { return false }
      let byte = text[offset]
      if byte < 0x80 {
        guard byte.lowercased == bytes[matched] else { return false }
        matched += 1
        offset += 1
        continue
      }
      let (folded, byteCount) = FoldedScalar.at(offset, in: text)
      for index in skipping..<max(skipping, folded.count) where matched < bytes.count {
        guard folded[index] == bytes[matched] else { return false }
        matched += 1
      }
      skipping = 0
      offset += byteCount
    }
    return true
  }
}

extension [UInt8] {
  /// Whether JSON escapes one of the characters.
  fileprivate var isEscapedInJSON: Bool {
    contains { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
  }
}

extension UInt8 {
  @inline(__always)
  fileprivate var lowercased: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }
}

/// ASCII bytes to find.
private struct ASCIIPattern: Sendable {
  let bytes: [UInt8]
  private let ignoresCase: Bool
  private let first: Pattern
  private let last: Pattern

  /// A byte repeated eight times. If it is a letter whose case does not matter, `mask` lowercases the compared word.
  private struct Pattern {
    let mask: UInt64
    let word: UInt64

    init(_ byte: UInt8, ignoresCase: Bool) {
      let isLetter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
      mask = ignoresCase && isLetter ? 0x2020_2020_2020_2020 : 0
      word = UInt64(byte) * 0x0101_0101_0101_0101
    }

    /// Sets the high bit of each byte of a word that matches. The bits of bytes above a match may be set as well.
    @inline(__always)
    func matches(_ other: UInt64) -> UInt64 {
      let difference = (other | mask) ^ word
      return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    }
  }

  /// - Parameters:
  ///   - bytes: at least one byte; lowercase if their case does not matter.
  init(_ bytes: [UInt8], ignoresCase: Bool) {
    self.bytes = bytes
    self.ignoresCase = ignoresCase
    first = Pattern(bytes[0], ignoresCase: ignoresCase)
    last = Pattern(bytes[bytes.count - 1], ignoresCase: ignoresCase)
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
      if (ignoresCase ? byte.lowercased : byte) != bytes[index] { return false }
    }
    return true
  }
}

extension UnsafeRawBufferPointer {
  fileprivate var isASCII: Bool { firstNonASCII(from: 0) == count }

  /// The offset of the first byte beyond ASCII, or the end.
  fileprivate func firstNonASCII(from start: Int) -> Int {
    var offset = start
    while offset + 8 <= count {
      let high = loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian & 0x8080_8080_8080_8080
      if high != 0 { return offset + high.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < count, self[offset] < 0x80 { offset += 1 }
    return offset
  }

  /// Whether a text is one that people read, and not a date, an address or a UUID as item types store them.
  fileprivate var isReadByPeople: Bool {
    guard mayBeForPrograms else { return true }
    let text = String(decoding: self, as: UTF8.self)
    return !text.isAddress && !text.isUUID && (try? RFC3339.parse(text)) == nil
  }

  /// Whether it begins like a date, is as long as a UUID, or holds what separates the scheme of an address: the checks of texts cost far more.
  private var mayBeForPrograms: Bool {
    if count == 36 || first.map({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) ?? false {
      return true
    }
    var slashes = 0
    for byte in reversed() {
      if byte == UInt8(ascii: ":"), slashes >= 2 { return true }
      slashes = byte == UInt8(ascii: "/") ? slashes + 1 : 0
    }
    return false
  }

  fileprivate var isNumber: Bool {
    allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) || $0 == UInt8(ascii: "-") }
  }
}

extension String {
  /// Whether it is a URL with a scheme and an authority, and nothing else.
  fileprivate var isAddress: Bool {
    guard let separator = firstRange(of: "://"), separator.lowerBound > startIndex else { return false }
    return self[..<separator.lowerBound].allSatisfy {
      $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0))
    }
      && !contains(where: \.isWhitespace)
  }

  fileprivate var isUUID: Bool {
    guard utf8.count == 36 else { return false }
    return utf8.enumerated().allSatisfy { index, byte in
      [8, 13, 18, 23].contains(index)
        ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isHexDigit
    }
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
