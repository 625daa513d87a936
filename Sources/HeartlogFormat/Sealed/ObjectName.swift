/// The name of an object on a carrier. Its `content`, the 16 digits before the last point, is the beginning of the object's salt.
package struct ObjectName: Hashable, Sendable, CustomStringConvertible {
  /// The name.
  package let text: String

  package var description: String { text }

  static let bytesMax = 255
  private static let contentDigits = 16

  /// Accepts a name of docs/shipping.md with the folders before it.
  ///
  /// - Throws: `EncryptionError.malformed`.
  package init(_ text: some StringProtocol) throws(EncryptionError) {
    let bytes = Array(text.utf8)
    guard bytes.count <= Self.bytesMax, bytes.allSatisfy({ (0x21...0x7E).contains($0) }),
      let point = bytes.lastIndex(of: UInt8(ascii: ".")), point >= Self.contentDigits,
      point + 1 < bytes.count,
      bytes[point - Self.contentDigits..<point].allSatisfy(Self.isDigit)
    else { throw .malformed("an object's name without 16 hexadecimal digits of content before its ending") }
    self.text = String(text)
  }

  /// The first eight bytes of the salt.
  package var content: [UInt8] { Hexadecimal.bytes(text[contentRange]) ?? [] }

  /// The same name with another content.
  func replacingContent(by content: [UInt8]) -> ObjectName {
    precondition(content.count == Self.contentDigits / 2)
    var other = text
    other.replaceSubrange(contentRange, with: Hexadecimal.text(content))
    return ObjectName(checked: other)
  }

  private init(checked text: String) { self.text = text }

  private var contentRange: Range<String.Index> {
    // The ending is all behind the last point, and all characters are of one byte.
    let point = text.utf8.lastIndex(of: UInt8(ascii: ".")) ?? text.endIndex
    return text.utf8.index(point, offsetBy: -Self.contentDigits)..<point
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }
}
