#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A read-only mapping of a whole file. The bytes stay valid and unchanged while the mapping exists, even if the file is renamed or
/// removed. Unmapped when the last reference is released.
///
/// The file must never be truncated or written again: accessing a page that it lost is a fault.
///
/// Unchecked: the memory is never written.
package final class FileMapping: @unchecked Sendable {
  /// The bytes that the file had when it was mapped, page-aligned. They must not be used after the mapping is released.
  package let bytes: UnsafeRawBufferPointer
  private let origin: Origin

  private enum Origin {
    case mapped
    case allocated
  }

  /// Maps an open file. The file may be closed afterwards.
  init(descriptor: Int32, size: Int, _ call: SystemCall) throws(FileError) {
    origin = .mapped
    guard size > 0 else {
      // mmap rejects a length of 0.
      bytes = UnsafeRawBufferPointer(start: nil, count: 0)
      return
    }
    guard let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
      throw call.error(errno)
    }
    bytes = UnsafeRawBufferPointer(start: start, count: size)
  }

  /// Copies the contents of an open file.
  init(copying file: some OpenFile) throws(FileError) {
    // The alignment that a mapping would have.
    let alignment = 4_096
    let copy = UnsafeMutableRawBufferPointer.allocate(
      byteCount: Int(try file.size()), alignment: alignment)
    do throws(FileError) {
      let count = try file.read(into: copy, at: 0)
      bytes = UnsafeRawBufferPointer(start: copy.baseAddress, count: count)
      origin = .allocated
    } catch {
      copy.deallocate()
      throw error
    }
  }

  deinit {
    switch origin {
    case .mapped:
      if let start = bytes.baseAddress { munmap(UnsafeMutableRawPointer(mutating: start), bytes.count) }
    case .allocated: bytes.baseAddress?.deallocate()
    }
  }
}
