/// Bytes as a mapping gives them: aligned, and kept where they are.
final class MappedBytes: @unchecked Sendable {
  let bytes: UnsafeRawBufferPointer

  init(_ array: [UInt8]) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, array.count), alignment: 4_096)
    copy.copyBytes(from: array)
    bytes = UnsafeRawBufferPointer(rebasing: copy[..<array.count])
  }

  deinit { bytes.deallocate() }
}
