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
