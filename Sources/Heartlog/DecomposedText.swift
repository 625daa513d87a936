// Canonical decomposition (Unicode NFD): é becomes e and an accent. On Apple platforms it is Foundation's; elsewhere the standard library's own,
// which Foundation itself uses, since all of Foundation is too much for one table.

#if canImport(Darwin)
  import Foundation

  extension String {
    var decomposed: some Sequence<Unicode.Scalar> { decomposedStringWithCanonicalMapping.unicodeScalars }
  }
#else
  @_spi(_Unicode) import Swift

  extension String {
    var decomposed: some Sequence<Unicode.Scalar> { _nfd }
  }
#endif
