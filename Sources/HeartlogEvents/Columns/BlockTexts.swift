/// The bytes of all texts of a block, in one immutable allocation.
package final class BlockTexts: @unchecked Sendable {
  private let memory: UnsafeMutableRawBufferPointer

  /// Takes ownership of allocated memory.
  init(_ memory: UnsafeMutableRawBufferPointer) { self.memory = memory }

  deinit { memory.deallocate() }

  /// Returns the bytes of a text. Valid only while this object is alive.
  @inline(__always)
  package func bytes(_ slice: TextSlice) -> UnsafeRawBufferPointer {
    let (offset, count) = (slice.offset, slice.count)
    precondition(offset + count <= memory.count, "a text of another block")
    // In bounds, as checked above.
    return UnsafeRawBufferPointer(start: memory.baseAddress.map { $0 + offset }, count: count)
  }

  /// Returns a copy of a text as a string.
  package func string(_ slice: TextSlice) -> String { String(decoding: bytes(slice), as: UTF8.self) }
}
