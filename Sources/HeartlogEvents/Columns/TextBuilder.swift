/// Puts the texts of a block together, column by column.
///
/// The memory may move in `reserve` alone: pointers into it are good from one call to the next.
struct TextBuilder: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  /// With room for `capacity` bytes.
  init(capacity: Int) { memory = .allocate(byteCount: max(64, capacity), alignment: 16) }

  deinit { memory.deallocate() }

  /// Makes room for `more` bytes behind those that are there.
  mutating func reserve(_ more: Int) throws(MalformedError) {
    let needed = count + more
    guard needed > memory.count else { return }
    // All columns together take 64 MiB, and rows of 16 MiB have no more than 8 million values: this is never met.
    guard needed <= Int(UInt32.max) else { throw MalformedError("a block of \(needed) bytes of texts") }
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(needed, 2 * memory.count), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
    memory.deallocate()
    memory = larger
  }

  /// The room behind the texts, which was reserved.
  var room: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[count...]) }

  /// Takes the first `more` bytes of the room, which were written. Returns the offset of the first.
  @discardableResult
  mutating func take(_ more: Int) -> Int {
    precondition(more >= 0 && more <= memory.count - count, "more than was reserved")
    defer { count += more }
    return count
  }

  /// Where `bytes` stand, if they are texts of this builder.
  func offset(of bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = bytes.baseAddress, let first = memory.baseAddress, start >= first, start < first + count
    else { return nil }
    return start - UnsafeRawPointer(first)
  }

  /// Where `bytes` stand, or go where they are not here yet: room for them was reserved.
  mutating func place(_ bytes: UnsafeRawBufferPointer) -> Int {
    if bytes.isEmpty { return 0 }
    if let offset = offset(of: bytes) { return offset }
    UnsafeMutableRawBufferPointer(rebasing: room[..<bytes.count]).copyMemory(from: bytes)
    return take(bytes.count)
  }

  func bytes(_ slice: TextSlice) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[slice.offset..<slice.offset + slice.count])
  }

  /// No text more: they stay as they are.
  consuming func finish() -> BlockTexts {
    let texts = BlockTexts(memory)
    discard self
    return texts
  }
}
