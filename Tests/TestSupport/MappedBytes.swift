/// Bytes at an address that a page begins at, as those of a mapped file.
package final class MappedBytes: @unchecked Sendable {
  package let bytes: UnsafeRawBufferPointer

  package init(_ array: [UInt8]) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, array.count), alignment: 4_096)
    copy.copyBytes(from: array)
    bytes = UnsafeRawBufferPointer(rebasing: copy[..<array.count])
  }

  deinit { bytes.deallocate() }
}
