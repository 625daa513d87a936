import Heartlog

/// Percent-encoding of texts in URLs.
extension String {
  /// The text as the path of a URL: all characters except the unreserved ones of RFC 3986 and the slash are
  /// escaped.
  package var percentEncoded: String {
    var encoded: [UInt8] = []
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        encoded.append(byte)
      case _ where "-._~/".utf8.contains(byte): encoded.append(byte)
      default: encoded += "%\(Hexadecimal.text([byte]).uppercased())".utf8
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}

extension StringProtocol {
  /// The percent-decoded text; `nil` if an escape is malformed, or the result is not UTF-8.
  package var percentDecoded: String? {
    var bytes: [UInt8] = []
    var rest = Array(utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      guard digits.utf8.count == 2, let value = Hexadecimal.bytes(digits) else { return nil }
      bytes += value
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
