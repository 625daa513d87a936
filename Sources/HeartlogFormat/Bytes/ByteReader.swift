/// Reads the format's integers, bytes and texts from memory that it does not own.
///
/// Every read is bounds-checked. A value that does not fit, or is not in its unique shortest form, throws. A reader must not outlive its
/// buffer.
package struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  /// The number of bytes read so far.
  package private(set) var offset = 0

  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  package var remaining: Int { bytes.count - offset }
  /// The remaining bytes, not copied.
  package var rest: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: bytes[offset...]) }
  package var isAtEnd: Bool { offset == bytes.count }

  /// Returns the next `count` bytes, without copying them.
  @inline(__always)
  package mutating func take(_ count: Int) throws(MalformedError) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= remaining else { throw .endOfBytes }
    let start = bytes.baseAddress.map { $0 + offset }
    offset += count
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  package mutating func u8() throws(MalformedError) -> UInt8 {
    guard offset < bytes.count else { throw .endOfBytes }
    defer { offset += 1 }
    return bytes[offset]
  }

  package mutating func u32() throws(MalformedError) -> UInt32 {
    UInt32(littleEndian: try take(4).loadUnaligned(as: UInt32.self))
  }

  package mutating func u64() throws(MalformedError) -> UInt64 {
    UInt64(littleEndian: try take(8).loadUnaligned(as: UInt64.self))
  }

  @inline(__always)
  package mutating func varint() throws(MalformedError) -> UInt64 {
    if offset < bytes.count, bytes[offset] < 0x80 {
      defer { offset += 1 }
      return UInt64(bytes[offset])
    }
    return try longVarint()
  }

  @inline(never)
  private mutating func longVarint() throws(MalformedError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = try u8()
      // The tenth byte holds only bit 63, and no byte may follow it.
      guard shift < 63 || byte <= 1 else { throw MalformedError("a varint past 64 bits") }
      value |= UInt64(byte & 0x7F) &<< shift
      if byte < 0x80 {
        guard byte != 0 || shift == 0 else {
          throw MalformedError("a varint that is not in its shortest form")
        }
        return value
      }
      shift += 7
    }
  }

  package mutating func zigzag() throws(MalformedError) -> Int64 {
    let value = try varint()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  /// Reads a varint of at most `most`: a count or a length, checked before anything is allocated for it.
  package mutating func count(atMost most: Int, _ what: StaticString) throws(MalformedError) -> Int {
    let value = try varint()
    guard value <= UInt64(max(0, most)) else {
      throw MalformedError("\(what): \(value), the most is \(max(0, most))")
    }
    return Int(value)
  }

  /// Reads a length and that many bytes, without copying them.
  @inline(__always)
  package mutating func lengthAndBytes() throws(MalformedError) -> UnsafeRawBufferPointer {
    let length = try varint()
    return try take(Int(clamping: length))
  }

  /// Reads a length and that many bytes of well-formed UTF-8.
  package mutating func text() throws(MalformedError) -> String {
    try String(wellFormed: try lengthAndBytes())
  }

  package mutating func replica() throws(MalformedError) -> ReplicaID {
    let bytes = try take(16)
    return ReplicaID(
      high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
  }

  package mutating func digest() throws(MalformedError) -> Digest { Digest(try take(32)) }

  /// Throws if bytes remain.
  package func end() throws(MalformedError) {
    guard isAtEnd else { throw MalformedError("\(remaining) bytes after the end") }
  }
}

extension MalformedError {
  static var endOfBytes: MalformedError { MalformedError("the bytes end before the value does") }
}

extension [UInt8] {
  /// Passes the bytes to `body`, for the duration of the call. As `withUnsafeBytes`, with typed errors.
  package func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
    try withUnsafeBufferPointer { (bytes) throws(E) in try body(UnsafeRawBufferPointer(bytes)) }
  }
}

extension FixedWidthInteger {
  /// Its bytes, the lowest first.
  package var littleEndianBytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }

  /// Its bytes, the highest first.
  package var bigEndianBytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

/// Appends the format's integers, bytes and texts to an array.
package struct ByteWriter: ByteOutput {
  package var bytes: [UInt8]

  package init() { bytes = [] }

  package init(capacity: Int) {
    bytes = []
    bytes.reserveCapacity(capacity)
  }

  /// Appends to existing bytes.
  package init(_ bytes: consuming [UInt8]) { self.bytes = bytes }

  package var count: Int { bytes.count }

  package mutating func u8(_ value: UInt8) { bytes.append(value) }

  package mutating func u32(_ value: UInt32) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  package mutating func u64(_ value: UInt64) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  package mutating func raw(_ value: UnsafeRawBufferPointer) { bytes.append(contentsOf: value) }

  /// Maps 0, -1, 1, -2 … to 0, 1, 2, 3 …
  static func zigzag(_ value: Int64) -> UInt64 { UInt64(bitPattern: (value << 1) ^ (value >> 63)) }

  /// Returns the encoded size of `value`: seven bits per byte, at least one byte.
  static func varintByteCount(_ value: UInt64) -> Int { (70 - (value | 1).leadingZeroBitCount) / 7 }

  /// Returns the encoded size of a length and that many bytes.
  static func lengthAndBytesByteCount(_ count: Int) -> Int { varintByteCount(UInt64(count)) + count }
}

/// Where the integers, bytes and texts of the format are written to: an array, memory of a known size, or the input of a hash.
///
/// A type stores bytes and fixed integers. How everything else is encoded is written once, here.
package protocol ByteOutput: ~Copyable {
  mutating func u8(_ value: UInt8)
  mutating func u32(_ value: UInt32)
  mutating func u64(_ value: UInt64)
  /// Bytes as they are, without a length.
  mutating func raw(_ value: UnsafeRawBufferPointer)
}

extension ByteOutput where Self: ~Copyable {
  /// Seven bits a byte, the lowest first; each byte but the last has its highest bit set.
  @inline(__always)
  package mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      u8(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    u8(UInt8(truncatingIfNeeded: rest))
  }

  package mutating func varint(_ value: Int) { varint(UInt64(value)) }

  package mutating func zigzag(_ value: Int64) { varint(ByteWriter.zigzag(value)) }

  package mutating func raw(_ value: [UInt8]) { value.withUnsafeBytes { raw($0) } }
  package mutating func raw(_ value: Digest) { value.withUnsafeBytes { raw($0) } }

  package mutating func lengthAndBytes(_ value: UnsafeRawBufferPointer) {
    varint(value.count)
    raw(value)
  }

  package mutating func lengthAndBytes(_ value: [UInt8]) { value.withUnsafeBytes { lengthAndBytes($0) } }

  package mutating func text(_ value: String) { value.withUTF8Bytes { lengthAndBytes($0) } }

  package mutating func replica(_ value: ReplicaID) {
    withUnsafeBytes(of: (value.high.bigEndian, value.low.bigEndian)) { raw($0) }
  }
}
