/// UUIDs as text columns encode them: 8-4-4-4-12 hexadecimal digits, all in one case.
enum UUIDText {
  static let length = 36
  private static let dashes = [8, 13, 18, 23]

  static func suits(_ text: UnsafeRawBufferPointer, isUpper: Bool) -> Bool {
    guard text.count == length else { return false }
    for (offset, byte) in text.enumerated() {
      if dashes.contains(offset) {
        guard byte == UInt8(ascii: "-") else { return false }
      } else {
        guard digit(byte, isUpper: isUpper) != nil else { return false }
      }
    }
    return true
  }

  /// Appends the 16 bytes of a text for which `suits` is true.
  static func append(_ text: UnsafeRawBufferPointer, to writer: inout ByteWriter) {
    var high: UInt8?
    for byte in text {
      guard let digit = digit(byte, isUpper: byte < UInt8(ascii: "a")) else { continue }
      if let first = high {
        writer.u8(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
  }

  /// - Parameter bytes: 16 bytes.
  static func text(_ bytes: UnsafeRawBufferPointer, isUpper: Bool) -> String {
    String(unsafeUninitializedCapacity: length) { buffer in
      write(bytes, isUpper: isUpper, to: UnsafeMutableRawBufferPointer(buffer))
      return length
    }
  }

  /// By byte: its two digits, the high one first.
  private static let lowerDigits = digits("0123456789abcdef")
  private static let upperDigits = digits("0123456789ABCDEF")

  private static func digits(_ alphabet: String) -> [UInt16] {
    let digits = Array(alphabet.utf8)
    return (0..<256).map { UInt16(digits[$0 >> 4]) | UInt16(digits[$0 & 15]) << 8 }
  }

  /// - Parameters:
  ///   - bytes: 16 bytes.
  ///   - text: a buffer of at least `length` bytes.
  static func write(_ bytes: UnsafeRawBufferPointer, isUpper: Bool, to text: UnsafeMutableRawBufferPointer) {
    precondition(bytes.count == 16 && text.count >= length, "16 bytes and their text")
    (isUpper ? upperDigits : lowerDigits).withUnsafeBufferPointer { digits in
      var offset = 0
      for (index, byte) in bytes.enumerated() {
        if index == 4 || index == 6 || index == 8 || index == 10 {
          text[offset] = UInt8(ascii: "-")
          offset += 1
        }
        text.storeBytes(of: digits[Int(byte)].littleEndian, toByteOffset: offset, as: UInt16.self)
        offset += 2
      }
    }
  }

  private static func digit(_ byte: UInt8, isUpper: Bool) -> UInt8? {
    let letter = isUpper ? UInt8(ascii: "A") : UInt8(ascii: "a")
    return switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case letter..<letter + 6: byte - letter + 10
    default: nil
    }
  }
}
