/// Collects the texts of a block, column by column.
///
/// Only `reserve` may move the memory; pointers into it stay valid between calls of it.
struct TextBuilder: ~Copyable {
  private var memory: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  /// Creates a builder with room for `capacity` bytes.
  init(capacity: Int) { memory = .allocate(byteCount: max(64, capacity), alignment: 16) }

  deinit { memory.deallocate() }

  /// Reserves room for `more` bytes after the existing ones.
  mutating func reserve(_ more: Int) throws(MalformedError) {
    let needed = count + more
    guard needed > memory.count else { return }
    // Never reached: all columns together take at most 64 MiB, and rows of 16 MiB have at most 8 million values.
    guard needed <= Int(UInt32.max) else { throw MalformedError("a block of \(needed) bytes of texts") }
    let larger = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(needed, 2 * memory.count), alignment: 16)
    larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: memory[..<count]))
    memory.deallocate()
    memory = larger
  }

  /// The reserved room after the texts.
  var room: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(rebasing: memory[count...]) }

  /// Adds the first `more` bytes of the room, which must have been written. Returns their offset.
  @discardableResult
  mutating func take(_ more: Int) -> Int {
    precondition(more >= 0 && more <= memory.count - count, "more than was reserved")
    defer { count += more }
    return count
  }

  /// Returns the offset of `bytes`, if they are inside this builder.
  func offset(of bytes: UnsafeRawBufferPointer) -> Int? {
    guard let start = bytes.baseAddress, let first = memory.baseAddress, start >= first, start < first + count
    else { return nil }
    return start - UnsafeRawPointer(first)
  }

  /// Returns the offset of `bytes`. Copies them first if they are not in this builder; room must have been reserved.
  mutating func place(_ bytes: UnsafeRawBufferPointer) -> Int {
    if bytes.isEmpty { return 0 }
    if let offset = offset(of: bytes) { return offset }
    UnsafeMutableRawBufferPointer(rebasing: room[..<bytes.count]).copyMemory(from: bytes)
    return take(bytes.count)
  }

  func bytes(_ slice: TextSlice) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: memory[slice.offset..<slice.offset + slice.count])
  }

  /// Ends building and returns the texts.
  consuming func finish() -> BlockTexts {
    let texts = BlockTexts(memory)
    discard self
    return texts
  }
}
