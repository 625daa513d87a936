/// Converts bytes to lowercase hexadecimal digits and back.
package enum Hexadecimal {
  private static let digits = Array("0123456789abcdef".utf8)

  /// Returns two lowercase digits per byte.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    var digits: [UInt8] = []
    for byte in bytes {
      digits.append(Self.digits[Int(byte >> 4)])
      digits.append(Self.digits[Int(byte & 15)])
    }
    return String(decoding: digits, as: UTF8.self)
  }

  /// Parses digits of either case; nil for an odd count or any other character.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    // A generic loop would call a function for each digit.
    text.utf8.withContiguousStorageIfAvailable(bytes(ofDigits:))
      ?? Array(text.utf8).withUnsafeBufferPointer(bytes(ofDigits:))
  }

  /// The value of a digit of either case; nil for any other character.
  @inline(__always)
  static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  private static func bytes(ofDigits digits: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(digits.count / 2)
    guard digits.count % 2 == 0 else { return nil }
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return nil }
      bytes.append(high << 4 | low)
    }
    return bytes
  }
}

/// Standard base64 with padding (RFC 4648, section 4). Foundation has it too, but is not imported here.
package enum Base64 {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  package static func text(_ bytes: some Collection<UInt8>) -> String {
    // The last digit has zeros for the bits after the last byte.
    let values = regroup(Array(bytes) + [0], of: 8, into: 6).prefix((8 * bytes.count + 5) / 6)
    var text = values.map { digits[Int($0)] }
    while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns nil for any text that `text(_:)` does not produce: each sequence of bytes has one form.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    var values: [UInt8] = []
    for byte in text.utf8.prefix(while: { $0 != UInt8(ascii: "=") }) {
      guard let value = digits.firstIndex(of: byte) else { return nil }
      values.append(UInt8(value))
    }
    let bytes = regroup(values, of: 6, into: 8)
    return self.text(bytes) == text ? bytes : nil
  }

  /// The form for addresses (RFC 4648, section 5), without padding.
  package static func urlText(_ bytes: some Collection<UInt8>) -> String {
    String(text(bytes).prefix { $0 != "=" }.map { $0 == "+" ? "-" : $0 == "/" ? "_" : $0 })
  }

  /// Returns nil for any text that `urlText(_:)` does not produce.
  package static func urlBytes(_ text: some StringProtocol) -> [UInt8]? {
    guard !text.contains(where: { "+/=".contains($0) }) else { return nil }
    let text = String(text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    return bytes(text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
  }

  /// Numbers of so many bits as numbers of other sizes, the most significant bits first. Bits that fill no number are left out.
  static func regroup(_ values: [UInt8], of bits: Int, into otherBits: Int) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(values.count * bits / otherBits)
    var pending = 0
    var pendingBits = 0
    for value in values {
      pending = pending << bits | Int(value)
      pendingBits += bits
      while pendingBits >= otherBits {
        pendingBits -= otherBits
        result.append(UInt8(pending >> pendingBits))
        pending &= 1 << pendingBits - 1
      }
    }
    return result
  }
}
