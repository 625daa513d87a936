#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

extension String {
  /// Creates a string from bytes; throws unless they are well-formed UTF-8.
  init(wellFormed bytes: UnsafeRawBufferPointer) throws(MalformedError) {
    guard let text = String(validating: bytes.bindMemory(to: UInt8.self), as: UTF8.self) else {
      throw MalformedError("text that is not well-formed UTF-8")
    }
    self = text
  }

  /// Passes the UTF-8 bytes to `body`, for the duration of the call. Does not copy or retain the string, unless it is bridged from another
  /// system.
  @inlinable @inline(__always)
  package func withUTF8Bytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    if let result = try utf8.withContiguousStorageIfAvailable({ try body(UnsafeRawBufferPointer($0)) }) {
      return result
    }
    var text = self
    return try text.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
  }

  /// Returns whether both have the same bytes. Names, ids and values compare in this way; `==` also treats é as equal to e and U+0301.
  package func hasSameBytes(as other: String) -> Bool {
    utf8.count == other.utf8.count
      && withUTF8Bytes { mine in other.withUTF8Bytes { mine.hasSameBytes(as: $0) } }
  }

  /// Returns whether this comes before another name in the format's order of names.
  package func bytesPrecede(_ other: String) -> Bool {
    withUTF8Bytes { mine in
      other.withUTF8Bytes { mine.bytesPrecede($0) }
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Returns whether two texts have the same bytes.
  package func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    count == other.count && order(to: other) == 0
  }

  /// Returns whether this comes before another name in the format's order of names.
  package func bytesPrecede(_ other: UnsafeRawBufferPointer) -> Bool {
    let order = order(to: other)
    return order == 0 ? count < other.count : order < 0
  }

  /// Whether all bytes are within 20…7E. Most texts are: well-formed, without control characters.
  var isPrintableASCII: Bool {
    guard count >= 8 else { return allSatisfy { (0x20...0x7E).contains($0) } }
    var offset = 0
    while offset + 8 < count {
      guard isPrintableWord(at: offset) else { return false }
      offset += 8
    }
    // The last word may overlap the previous one.
    return isPrintableWord(at: count - 8)
  }

  private func isPrintableWord(at offset: Int) -> Bool {
    let word = loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    // The first term detects bytes from 80 on and 7F, the second bytes below 20.
    let found =
      (word | (word &+ 0x0101_0101_0101_0101)) | (word &- 0x2020_2020_2020_2020) & ~word
    return found & 0x8080_8080_8080_8080 == 0
  }

  /// Compares as many bytes as both have: less than 0, 0, or more than 0, as memcmp does.
  private func order(to other: UnsafeRawBufferPointer) -> Int32 {
    guard let first = baseAddress, let second = other.baseAddress else { return 0 }
    return memcmp(first, second, Swift.min(count, other.count))
  }
}

/// A text as a key that compares by bytes.
package struct UTF8Key: Hashable, Sendable {
  package let text: String

  package init(_ text: String) { self.text = text }

  package static func == (a: UTF8Key, b: UTF8Key) -> Bool { a.text.hasSameBytes(as: b.text) }

  package func hash(into hasher: inout Hasher) { text.withUTF8Bytes { hasher.combine(bytes: $0) } }
}

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
