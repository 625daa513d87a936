/// The result of checking bytes as UTF-8.
enum UTF8Check {
  case ascii
  /// Well-formed, but not all ASCII.
  case wellFormed
  case malformed

  /// Checks bytes. Skips ASCII, which most texts are, 32 bytes at a time.
  ///
  /// Source of the ranges: The Unicode Standard, table 3-7.
  init(_ bytes: UnsafeRawBufferPointer) {
    var offset = 0
    var isASCII = true
    while true {
      Self.skipASCII(bytes, &offset)
      guard offset < bytes.count else {
        self = isASCII ? .ascii : .wellFormed
        return
      }
      isASCII = false
      let length = Self.sequenceLength(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
      guard length > 0 else {
        self = .malformed
        return
      }
      offset += length
    }
  }

  /// Advances `offset` to the first byte that is not ASCII, or to the end.
  @inline(__always)
  private static func skipASCII(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) {
    let high: UInt64 = 0x8080_8080_8080_8080
    func word(_ ahead: Int) -> UInt64 {
      bytes.loadUnaligned(fromByteOffset: offset + ahead, as: UInt64.self)
    }
    while offset + 32 <= bytes.count, (word(0) | word(8) | word(16) | word(24)) & high == 0 { offset += 32 }
    while offset + 8 <= bytes.count, word(0) & high == 0 { offset += 8 }
    while offset < bytes.count, bytes[offset] < 0x80 { offset += 1 }
  }

  /// Returns the length of the non-ASCII sequence at the start; 0 if it is not well-formed.
  private static func sequenceLength(_ bytes: UnsafeRawBufferPointer) -> Int {
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch bytes[0] {
    case 0xC2...0xDF: length = 2
    case 0xE0: (length, second) = (3, 0xA0...0xBF)
    case 0xED: (length, second) = (3, 0x80...0x9F)
    case 0xE1...0xEF: length = 3
    case 0xF0: (length, second) = (4, 0x90...0xBF)
    case 0xF1...0xF3: length = 4
    case 0xF4: (length, second) = (4, 0x80...0x8F)
    default: return 0
    }
    guard length <= bytes.count, second.contains(bytes[1]) else { return 0 }
    for offset in 2..<max(2, length) where !isContinuation(bytes[offset]) { return 0 }
    return length
  }

  /// Returns whether a byte of well-formed text continues a sequence.
  static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }
}

extension UnsafeRawBufferPointer {
  /// Throws where the bytes are not well-formed UTF-8.
  @inline(__always)
  func checkUTF8() throws(MalformedError) {
    if isPrintableASCII { return }
    if case .malformed = UTF8Check(self) { throw MalformedError("text that is not well-formed UTF-8") }
  }
}
