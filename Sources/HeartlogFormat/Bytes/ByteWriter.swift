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
