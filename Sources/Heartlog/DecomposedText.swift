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
