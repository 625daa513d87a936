// Canonical composition (Unicode NFC): e and an accent become é. On Apple platforms this uses Foundation.
// Elsewhere it uses the standard library's implementation, on which Foundation itself is based: linking all
// of Foundation for one table would cost too much.

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
