/// UUIDs as the text columns write them: 8-4-4-4-12 hexadecimal digits, all in one case.
enum UUIDText {
  static let length = 36
  private static let dashes = [8, 13, 18, 23]

  static func suits(_ text: UnsafeRawBufferPointer, isUpper: Bool) -> Bool {
    guard text.count == length else { return false }
    for (place, byte) in text.enumerated() {
      if dashes.contains(place) {
        guard byte == UInt8(ascii: "-") else { return false }
      } else {
        guard digit(byte, isUpper: isUpper) != nil else { return false }
      }
    }
    return true
  }

  /// Appends the 16 bytes of a text that suits.
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

  /// - Parameter bytes: 16 of them.
  static func text(_ bytes: UnsafeRawBufferPointer, isUpper: Bool) -> String {
    let letter = (isUpper ? UInt8(ascii: "A") : UInt8(ascii: "a")) - 10
    return String(unsafeUninitializedCapacity: length) { buffer in
      var place = 0
      for byte in bytes {
        if dashes.contains(place) {
          buffer[place] = UInt8(ascii: "-")
          place += 1
        }
        for digit in [byte >> 4, byte & 15] {
          buffer[place] = digit + (digit < 10 ? UInt8(ascii: "0") : letter)
          place += 1
        }
      }
      return place
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
