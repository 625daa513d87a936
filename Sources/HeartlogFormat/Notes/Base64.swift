/// Standard base64 with padding (RFC 4648, section 4). Foundation has it too, but is not imported here.
package enum Base64 {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  package static func text(_ bytes: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    var word: UInt32 = 0
    var bits = 0
    for byte in bytes {
      word = word << 8 | UInt32(byte)
      bits += 8
      while bits >= 6 {
        bits -= 6
        text.append(digits[Int(word >> UInt32(bits)) & 63])
      }
    }
    if bits > 0 { text.append(digits[Int(word << UInt32(6 - bits)) & 63]) }
    while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns nil for any text that `text(_:)` does not produce: each sequence of bytes has one form.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    var bytes: [UInt8] = []
    var word: UInt32 = 0
    var bits = 0
    for byte in text.utf8.prefix(while: { $0 != UInt8(ascii: "=") }) {
      guard let digit = digits.firstIndex(of: byte) else { return nil }
      word = word << 6 | UInt32(digit)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt32(bits)))
      }
    }
    return self.text(bytes) == text ? bytes : nil
  }
}
