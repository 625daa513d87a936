/// The bytes of all texts of a block, in one piece of memory that lives as long as this does and never changes.
package final class BlockTexts: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer

  /// Takes over memory that was allocated.
  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  deinit { memory.deallocate() }

  /// The bytes of a text, valid as long as this object: hold it for as long as you use them.
  @inline(__always)
  package func bytes(_ slice: TextSlice) -> UnsafeRawBufferPointer {
    let (offset, count) = (slice.offset, slice.count)
    precondition(offset + count <= memory.count, "a text of another block")
    // Within the memory, as was just seen.
    return UnsafeRawBufferPointer(start: memory.baseAddress.map { $0 + offset }, count: count)
  }

  /// A text as a string of its own.
  package func string(_ slice: TextSlice) -> String { String(decoding: bytes(slice), as: UTF8.self) }
}
