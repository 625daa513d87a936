/// The values of all fields of a block, one 64-bit word each: integers as they are, doubles as their bits, texts as slices.
///
/// Written only while a block is read; immutable after that.
package final class ColumnWords: @unchecked Sendable {
  private let memory: UnsafeMutableBufferPointer<Int64>

  init(count: Int) { memory = .allocate(capacity: count) }

  deinit { memory.deallocate() }

  /// Returns a range of words for writing.
  func cells(_ range: Range<Int>) -> UnsafeMutableBufferPointer<Int64> {
    UnsafeMutableBufferPointer(rebasing: memory[range])
  }

  /// Returns the word at an index.
  @inline(__always)
  package subscript(index: Int) -> Int64 {
    precondition(UInt(bitPattern: index) < UInt(bitPattern: memory.count), "no value is there")
    return memory[index]
  }
}
