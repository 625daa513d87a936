/// Writes a row to memory that outlives the writer, as far as there is room, and counts the bytes of the whole row.
///
/// An array checks its storage for each appended byte, which took half of the time to write a row.
struct RowWriter: ByteOutput {
  /// The number of bytes in the row so far. Only the first `memory.count` of them are written.
  private(set) var byteCount = 0
  private let start: UnsafeMutableRawPointer?
  private let capacity: Int

  init(_ memory: UnsafeMutableRawBufferPointer) {
    start = memory.baseAddress
    capacity = memory.count
  }

  /// Claims the next bytes; nil if there is no room for all of them.
  @inline(__always)
  private mutating func claim(_ count: Int) -> UnsafeMutableRawPointer? {
    defer { byteCount += count }
    return byteCount + count <= capacity ? start?.advanced(by: byteCount) : nil
  }

  mutating func u8(_ value: UInt8) { claim(1)?.storeBytes(of: value, as: UInt8.self) }
  mutating func u32(_ value: UInt32) { claim(4)?.storeBytes(of: value.littleEndian, as: UInt32.self) }
  mutating func u64(_ value: UInt64) { claim(8)?.storeBytes(of: value.littleEndian, as: UInt64.self) }

  mutating func raw(_ value: UnsafeRawBufferPointer) {
    guard let memory = claim(value.count), let source = value.baseAddress else { return }
    memory.copyMemory(from: source, byteCount: value.count)
  }
}
