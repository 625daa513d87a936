/// Writes a row of a known size to memory that outlives the writer.
///
/// An array checks its storage at each byte that is appended; that was half of the cost of a row.
struct RowWriter: ByteOutput {
  private var next: UnsafeMutableRawPointer
  private let end: UnsafeMutableRawPointer

  /// - Precondition: `memory` is not empty; what is written fits into it.
  init(_ memory: UnsafeMutableRawBufferPointer) {
    guard let start = memory.baseAddress else { preconditionFailure("a row without memory") }
    next = start
    end = start + memory.count
  }

  /// How many bytes are free.
  var room: Int { end - next }

  @inline(__always)
  private mutating func store<Value: BitwiseCopyable>(_ value: Value) {
    precondition(room >= MemoryLayout<Value>.size)
    next.storeBytes(of: value, as: Value.self)
    next += MemoryLayout<Value>.size
  }

  mutating func u8(_ value: UInt8) { store(value) }
  mutating func u32(_ value: UInt32) { store(value.littleEndian) }
  mutating func u64(_ value: UInt64) { store(value.littleEndian) }

  mutating func raw(_ value: UnsafeRawBufferPointer) {
    precondition(room >= value.count)
    guard let start = value.baseAddress else { return }
    next.copyMemory(from: start, byteCount: value.count)
    next += value.count
  }
}
