// Canonical composition (Unicode NFC): e and an accent become é. On Apple platforms it is Foundation's; elsewhere the standard library's
// own, which Foundation itself uses, since all of Foundation is too much for one table.

#if canImport(Darwin)
  import Foundation

  extension String {
    var composed: String { precomposedStringWithCanonicalMapping }
  }
#else
  @_spi(_Unicode) import Swift

  extension String {
    var composed: String {
      var text = String.UnicodeScalarView()
      text.append(contentsOf: _nfc)
      return String(text)
    }
  }
#endif
