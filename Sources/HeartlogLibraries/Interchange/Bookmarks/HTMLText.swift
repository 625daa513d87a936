import Heartlog

/// Text in HTML, and in the quotation marks of its attributes.
enum HTMLText {
  private static let entities = [
    "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{A0}",
  ]
  /// Longer names than any above, and the digits of the highest character.
  private static let entityBytesMax = 9

  /// Replaces character references; one that is not known stays as it stands. Bytes that are no UTF-8 become U+FFFD.
  static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    let ampersand = UInt8(ascii: "&")
    guard bytes.contains(ampersand) else { return String(decoding: bytes, as: UTF8.self) }
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    var offset = bytes.startIndex
    while offset < bytes.endIndex {
      let byte = bytes[offset]
      offset += 1
      if byte == ampersand,
        let end = bytes[offset...].prefix(entityBytesMax).firstIndex(of: UInt8(ascii: ";")),
        let text = text(of: String(decoding: bytes[offset..<end], as: UTF8.self))
      {
        output += text.utf8
        offset = end + 1
      } else {
        output.append(byte)
      }
    }
    return String(decoding: output, as: UTF8.self)
  }

  private static func text(of reference: String) -> String? {
    guard reference.hasPrefix("#") else { return entities[reference] }
    let digits = reference.dropFirst()
    let isHexadecimal = digits.first == "x" || digits.first == "X"
    guard let code = isHexadecimal ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits),
      code != 0, let scalar = Unicode.Scalar(code)
    else { return nil }
    return String(Character(scalar))
  }

  /// Appends a text so that it means itself.
  static func append(_ text: String, to output: inout [UInt8]) {
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): output += "&amp;".utf8
      case UInt8(ascii: "<"): output += "&lt;".utf8
      case UInt8(ascii: ">"): output += "&gt;".utf8
      case UInt8(ascii: "\""): output += "&quot;".utf8
      // Readers make a line feed of it.
      case 0x0D: output += "&#13;".utf8
      default: output.append(byte)
      }
    }
  }
}
