/// What the parts of a row are written to: bytes that grow, or memory that has room for them.
protocol RowOutput {
  mutating func u8(_ value: UInt8)
  mutating func u64(_ value: UInt64)
  mutating func varint(_ value: UInt64)
  mutating func raw(_ value: UnsafeRawBufferPointer)
}

extension RowOutput {
  mutating func varint(_ value: Int) { varint(UInt64(value)) }
  mutating func zigzag(_ value: Int64) { varint(ByteWriter.zigzag(value)) }
  mutating func raw(_ value: Digest) { value.withUnsafeBytes { raw($0) } }

  mutating func lengthAndBytes(_ value: [UInt8]) {
    varint(value.count)
    value.withUnsafeBytes { raw($0) }
  }

  mutating func text(_ value: String) {
    value.withUTF8Bytes {
      varint($0.count)
      raw($0)
    }
  }

  mutating func replica(_ value: ReplicaID) {
    withUnsafeBytes(of: (value.high.bigEndian, value.low.bigEndian)) { raw($0) }
  }
}

extension ByteWriter: RowOutput {}

/// Writes a row of a known size to memory that lies there for as long as the writer is used.
///
/// An array that grows byte by byte looks at itself for each of them: that was half of what a row cost.
struct RowWriter: RowOutput {
  private var place: UnsafeMutableRawPointer
  private let end: UnsafeMutableRawPointer

  /// - Precondition: `memory` is not empty; what is written fits into it.
  init(_ memory: UnsafeMutableRawBufferPointer) {
    guard let start = memory.baseAddress else { preconditionFailure("a row without memory") }
    place = start
    end = start + memory.count
  }

  /// How many bytes are free yet.
  var room: Int { end - place }

  mutating func u8(_ value: UInt8) {
    precondition(room >= 1)
    place.storeBytes(of: value, as: UInt8.self)
    place += 1
  }

  mutating func u64(_ value: UInt64) {
    precondition(room >= 8)
    place.storeBytes(of: value.littleEndian, as: UInt64.self)
    place += 8
  }

  mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      u8(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    u8(UInt8(truncatingIfNeeded: rest))
  }

  mutating func raw(_ value: UnsafeRawBufferPointer) {
    precondition(room >= value.count)
    guard let start = value.baseAddress else { return }
    place.copyMemory(from: start, byteCount: value.count)
    place += value.count
  }
}
