/// Bytes to be hashed, in one reused buffer.
struct HashInput: ~Copyable, ByteOutput {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 16)
  private var count = 0

  deinit { memory.deallocate() }

  mutating func removeAll() { count = 0 }

  borrowing func hash(with hasher: inout SHA256Hasher) -> Digest {
    hasher.update(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    return hasher.finish()
  }

  /// Reserves space for a salt.
  mutating func leaveSaltOpen() {
    reserve(MemoryLayout<Salt>.size)
    count += MemoryLayout<Salt>.size
  }

  /// Writes the salt into the space reserved at the start.
  mutating func fill(_ salt: Salt) { salt.withUnsafeBytes { memory.copyMemory(from: $0) } }

  /// Ensures capacity for `more` bytes. Must be called before every write below.
  @inline(__always)
  private mutating func reserve(_ more: Int) {
    if count + more > memory.count { grow(to: count + more) }
  }

  private mutating func grow(to byteCount: Int) {
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(byteCount, 2 * memory.count), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
    memory.deallocate()
    memory = larger
  }

  @inline(__always)
  private mutating func store<Value: BitwiseCopyable>(_ value: Value) {
    reserve(MemoryLayout<Value>.size)
    memory.storeBytes(of: value, toByteOffset: count, as: Value.self)
    count += MemoryLayout<Value>.size
  }

  mutating func u8(_ value: UInt8) { store(value) }
  mutating func u32(_ value: UInt32) { store(value.littleEndian) }
  mutating func u64(_ value: UInt64) { store(value.littleEndian) }

  mutating func raw(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + bytes.count]).copyMemory(from: bytes)
    count += bytes.count
  }
}
