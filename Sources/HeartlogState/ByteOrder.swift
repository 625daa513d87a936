#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension UnsafeRawBufferPointer {
  func hasSameBytes(as other: UnsafeRawBufferPointer) -> Bool {
    guard count == other.count else { return false }
    guard let first = baseAddress, let second = other.baseAddress else { return true }
    return memcmp(first, second, count) == 0
  }

  /// Lexicographic, a prefix before what it begins. Bytes are taken eight at a time: every load lies inside the buffer, because its
  /// offset plus eight is checked against the count first.
  func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
    let shared = Swift.min(count, other.count)
    var offset = 0
    while offset + 8 <= shared {
      let a = UInt64(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let b = UInt64(bigEndian: other.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      if a != b { return a < b }
      offset += 8
    }
    while offset < shared {
      if self[offset] != other[offset] { return self[offset] < other[offset] }
      offset += 1
    }
    return count < other.count
  }

  /// Multiply and fold, as wyhash does (Wang Yi, 2019), over words of eight bytes; `hash` is a seed, or what came before.
  func hashed(into hash: inout UInt64) {
    hash ^= UInt64(truncatingIfNeeded: count)
    var offset = 0
    while offset + 8 <= count {
      hash = Self.fold(hash ^ loadUnaligned(fromByteOffset: offset, as: UInt64.self), 0xa076_1d64_78bd_642f)
      offset += 8
    }
    var tail: UInt64 = 0
    while offset < count {
      tail = tail << 8 | UInt64(self[offset])
      offset += 1
    }
    hash = Self.fold(hash ^ tail, 0xe703_7ed1_a0b4_28db)
  }

  private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }

  /// The first eight bytes as a big-endian integer, filled up with zeros: buffers whose prefixes differ are
  /// ordered as the prefixes are.
  var prefix: UInt64 {
    if count >= 8 { return UInt64(bigEndian: loadUnaligned(as: UInt64.self)) }
    var word: UInt64 = 0
    for byte in self { word = word << 8 | UInt64(byte) }
    return count == 0 ? 0 : word << UInt64(64 - 8 * count)
  }
}

extension String {
  /// The string's UTF-8, for the length of the call: where it lies, without a reference counted, but for a string of another system.
  @inline(__always)
  func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    if let result = try utf8.withContiguousStorageIfAvailable({ try body(UnsafeRawBufferPointer($0)) }) {
      return result
    }
    var copy = self
    return try copy.withUTF8 { try body(UnsafeRawBufferPointer($0)) }
  }
}
