/// A name as the search compares it: in lower case, with its diacritics.
///
/// Canonically equivalent spellings are one name. Most names are *plain*: their bytes are those of their composed normal form, and
/// nothing in them joins what stands before it, so that comparing bytes is enough. The others are compared character by character.
struct FoldedName {
  let text: String
  let isPlain: Bool

  init(_ name: String) {
    text = name.lowercased()
    isPlain = text.utf8.allSatisfy { $0 < 0x80 } || text.unicodeScalars.allSatisfy(Self.isPlain)
  }

  /// The characters before the first that is not plain.
  var plainPrefix: Substring {
    isPlain ? text[...] : text.prefix { $0.unicodeScalars.allSatisfy(Self.isPlain) }
  }

  /// Whether the name begins with another, character by character: with "e" only where no diacritic follows it.
  func begins(with other: FoldedName) -> Bool { text.starts(with: other.text) }

  /// Whether a scalar is its own composed form whatever stands beside it: no mark, no second half of a Hangul syllable, nothing that
  /// composition excludes (Unicode Standard Annex 15, NFC_Quick_Check, taken strictly).
  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    // Nothing below the first combining mark composes with what is before it.
    if scalar.value < 0x300 { return true }
    if (0x1160...0x11FF).contains(scalar.value) { return false }
    let properties = scalar.properties
    switch properties.generalCategory {
    case .nonspacingMark, .spacingMark, .enclosingMark: return false
    default:
      return properties.canonicalCombiningClass == .notReordered && !properties.isFullCompositionExclusion
    }
  }
}
