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
