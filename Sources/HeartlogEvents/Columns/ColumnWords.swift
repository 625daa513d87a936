/// The values of all fields of a block, a word of 64 bits each: numbers as they are, doubles as their bits, texts as slices.
///
/// Written while a block is read, and never after.
package final class ColumnWords: @unchecked Sendable {
  private let memory: UnsafeMutableBufferPointer<Int64>

  init(count: Int) { memory = .allocate(capacity: count) }

  deinit { memory.deallocate() }

  /// For those who write.
  func cells(_ range: Range<Int>) -> UnsafeMutableBufferPointer<Int64> {
    UnsafeMutableBufferPointer(rebasing: memory[range])
  }

  @inline(__always)
  package subscript(place: Int) -> Int64 {
    precondition(UInt(bitPattern: place) < UInt(bitPattern: memory.count), "no value is there")
    return memory[place]
  }
}
