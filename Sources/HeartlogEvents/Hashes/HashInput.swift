/// Bytes that are put together to be hashed, in one piece of memory that is used again and again.
struct HashInput: ~Copyable {
  private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 16)
  private var count = 0

  deinit { memory.deallocate() }

  mutating func removeAll() { count = 0 }

  /// The bytes so far, for the length of the call.
  borrowing func hash(with hasher: inout SHA256Hasher) -> Digest {
    hasher.update(UnsafeRawBufferPointer(rebasing: memory[..<count]))
    return hasher.finish()
  }

  /// Makes room for `more` bytes: every write below is preceded by it.
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
  private mutating func store<Value: BitwiseCopyable>(_ value: Value, byteCount: Int) {
    reserve(byteCount)
    memory.storeBytes(of: value, toByteOffset: count, as: Value.self)
    count += byteCount
  }

  mutating func u8(_ value: UInt8) { store(value, byteCount: 1) }
  mutating func u32(_ value: UInt32) { store(value.littleEndian, byteCount: 4) }
  mutating func u64(_ value: UInt64) { store(value.littleEndian, byteCount: 8) }

  mutating func replica(_ value: ReplicaID) {
    store(value.high.bigEndian, byteCount: 8)
    store(value.low.bigEndian, byteCount: 8)
  }

  mutating func varint(_ value: UInt64) {
    reserve(10)
    var rest = value
    while rest >= 0x80 {
      memory[count] = UInt8(truncatingIfNeeded: rest) | 0x80
      count += 1
      rest >>= 7
    }
    memory[count] = UInt8(truncatingIfNeeded: rest)
    count += 1
  }

  mutating func zigzag(_ value: Int64) { varint(ByteWriter.zigzag(value)) }

  mutating func raw(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + bytes.count]).copyMemory(from: bytes)
    count += bytes.count
  }

  mutating func raw(_ bytes: [UInt8]) { bytes.withUnsafeBytes { raw($0) } }
  mutating func raw(_ digest: Digest) { digest.withUnsafeBytes { raw($0) } }

  mutating func lengthAndBytes(_ bytes: UnsafeRawBufferPointer) {
    varint(UInt64(bytes.count))
    raw(bytes)
  }

  mutating func lengthAndBytes(_ bytes: [UInt8]) {
    varint(UInt64(bytes.count))
    raw(bytes)
  }

  mutating func text(_ text: String) {
    text.withUTF8Bytes {
      varint(UInt64($0.count))
      raw($0)
    }
  }
}
