import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A Unicode scalar as a search compares it, without regard to case and diacritics: the UTF-8 of its folded form, which is empty for a
/// diacritic.
///
/// The folded form is that of full case folding (lowercase of uppercase, so that ß is ss and ﬁ is fi) and canonical decomposition, without
/// diacritics, with some letters of Latin replaced by the ones that they are typed as (ł by l, ø by o, æ by ae), and with full-width forms
/// replaced by ASCII.
struct FoldedScalar {
  private let words: (UInt64, UInt64)
  let count: Int

  @inline(__always)
  subscript(index: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: (index < 8 ? words.0 : words.1) >> (UInt64(index & 7) * 8))
  }

  /// Up to 7 bytes, and their count in the highest one.
  private init(packed: UInt64) {
    words = (packed, 0)
    count = Int(packed >> 56)
  }

  private init(_ bytes: [UInt8]) {
    // No scalar has a longer folded form: a Hangul syllable has the longest, 9 bytes. Anything after that would not be compared.
    var words: (UInt64, UInt64) = (0, 0)
    for (index, byte) in bytes.prefix(16).enumerated() {
      if index < 8 {
        words.0 |= UInt64(byte) << (index * 8)
      } else {
        words.1 |= UInt64(byte) << (index * 8 - 64)
      }
    }
    self.words = words
    count = min(bytes.count, 16)
  }

  /// The folded scalar at an offset of well-formed UTF-8, and the number of bytes that it has there.
  @inline(__always)
  static func at(_ offset: Int, in text: UnsafeRawBufferPointer) -> (folded: FoldedScalar, byteCount: Int) {
    let first = text[offset]
    var value = UInt32(first)
    var byteCount = 1
    if first >= 0xF0 {
      (value, byteCount) = (value & 0x07, 4)
    } else if first >= 0xE0 {
      (value, byteCount) = (value & 0x0F, 3)
    } else if first >= 0xC0 {
      (value, byteCount) = (value & 0x1F, 2)
    }
    // A text of the store is well-formed; anything else is cut here rather than read past its end.
    byteCount = min(byteCount, text.count - offset)
    for index in 1..<max(1, byteCount) { value = value << 6 | UInt32(text[offset + index] & 0x3F) }
    return (folded(value), byteCount)
  }

  /// Whether a byte beyond ASCII begins a scalar that is neither a diacritic nor folded to ASCII, or is inside of a scalar. So begin those of
  /// Greek, Cyrillic, Kana, Han and Hangul, and emoji.
  @inline(__always)
  static func isNeverASCII(_ byte: UInt8) -> Bool {
    // 0xCE to 0xD1, 0xE3 to 0xED, and from 0xF0 on: bit 0 is 0xC0.
    byte < 0xC0 || (0xFFFF_3FF8_0003_C000 as UInt64) >> UInt64(byte & 63) & 1 == 1
  }

  @inline(__always)
  private static func folded(_ value: UInt32) -> FoldedScalar {
    guard value < cachedMax else { return FoldedScalar(bytes(of: value)) }
    let known = entries[Int(value)].load(ordering: .relaxed)
    return known != 0 ? FoldedScalar(packed: known & ~(1 << 63)) : remember(value)
  }

  @inline(never)
  private static func remember(_ value: UInt32) -> FoldedScalar {
    let bytes = bytes(of: value)
    guard bytes.count <= 7 else { return FoldedScalar(bytes) }
    var packed = UInt64(bytes.count) << 56
    for (index, byte) in bytes.enumerated() { packed |= UInt64(byte) << (index * 8) }
    // The highest bit tells the folded form of a diacritic, which is empty, from none.
    entries[Int(value)].store(packed | 1 << 63, ordering: .relaxed)
    return FoldedScalar(packed: packed)
  }

  // MARK: - The rule

  /// The UTF-8 of the folded form of a scalar.
  static func bytes(of value: UInt32) -> [UInt8] {
    guard let scalar = Unicode.Scalar(value) else { return [] }
    if scalar.isASCII { return Array(scalar.properties.lowercaseMapping.utf8) }
    if let letters = latin[scalar] { return Array(letters.utf8) }
    // Full-width forms of ASCII.
    if (0xFF01...0xFF5E).contains(value) { return bytes(of: value - 0xFEE0) }
    var folded = String.UnicodeScalarView()
    // Decomposed first, so that İ is an I with a diacritic, and not an i with two dots.
    for part in String(scalar).decomposed where !isDiacritic(part) {
      let cased = String(part).lowercased().uppercased().lowercased()
      for part in cased.decomposed where !isDiacritic(part) {
        folded.append(contentsOf: (latin[part] ?? String(part)).unicodeScalars)
      }
    }
    return Array(String(folded).utf8)
  }

  /// Whether a scalar is a mark above, below or through a letter, or a vowel point of Hebrew or Arabic. The vowel signs of Indic scripts
  /// and Thai, and the voicing marks of Japanese, are none: without them, it would be another word.
  private static func isDiacritic(_ scalar: Unicode.Scalar) -> Bool {
    guard scalar.value < 0x3000, scalar.properties.generalCategory == .nonspacingMark else { return false }
    let position = scalar.properties.canonicalCombiningClass.rawValue
    return position == 1 || (10...36).contains(position) || position >= 200
  }

  /// Letters that Unicode does not decompose, as they are typed without them.
  private static let latin: [Unicode.Scalar: String] = [
    "ł": "l", "Ł": "l", "ø": "o", "Ø": "o", "đ": "d", "Đ": "d", "ð": "d", "Ð": "d", "ħ": "h", "Ħ": "h",
    "ŧ": "t", "Ŧ": "t", "ı": "i", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "þ": "th", "Þ": "th",
    "ŋ": "n", "Ŋ": "n", "ĸ": "k", "ĳ": "ij", "Ĳ": "ij", "ŉ": "n",
  ]

  // MARK: - The cache

  /// The scalars below it are folded once.
  private static let cachedMax: UInt32 = 0x1_0000
  /// 0 is not known yet. Threads that fold the same scalar store the same entry. `calloc` gives pages that take no memory until they are
  /// used; they are never released. A static pointer, because each access to a property of an object would be checked for exclusivity.
  nonisolated(unsafe) private static let entries: UnsafeMutablePointer<Atomic<UInt64>> = {
    guard let bytes = calloc(Int(cachedMax), MemoryLayout<Atomic<UInt64>>.stride) else {
      preconditionFailure("512 KiB of memory")
    }
    return bytes.bindMemory(to: Atomic<UInt64>.self, capacity: Int(cachedMax))
  }()
}

// Canonical decomposition (Unicode NFD): é becomes e and a combining accent; and composition (NFC), the other way. Apple platforms use Foundation. Elsewhere, linking all of
// Foundation for one table is too much, so this uses the standard library's implementation, which Foundation itself calls.

#if canImport(Darwin)
  import Foundation

  extension String {
    package var decomposed: some Sequence<Unicode.Scalar> {
      decomposedStringWithCanonicalMapping.unicodeScalars
    }
    package var precomposed: some Sequence<Unicode.Scalar> {
      precomposedStringWithCanonicalMapping.unicodeScalars
    }
  }
#else
  @_spi(_Unicode) import Swift

  extension String {
    package var decomposed: some Sequence<Unicode.Scalar> { _nfd }
    package var precomposed: some Sequence<Unicode.Scalar> { _nfc }
  }
#endif
