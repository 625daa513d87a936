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

extension UnsafeRawBufferPointer {
  /// Throws where the bytes are not well-formed UTF-8.
  @inline(__always)
  func checkUTF8() throws(MalformedError) {
    if isPrintableASCII { return }
    _ = try String(wellFormed: self)
  }
}
