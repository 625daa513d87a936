#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The bytes of a whole file, to be read in place; they stay what they are for as long as the mapping lives, whatever becomes of the
/// file's name. Let go with its last reference.
///
/// The file must never be shortened or written to again: touching a page that it lost is a fault.
///
/// Unchecked: the memory is never written to.
package final class FileMapping: @unchecked Sendable {
  /// As many as the file had when it was mapped. They begin at a page, and must not be used when the mapping is gone.
  package let bytes: UnsafeRawBufferPointer
  private let origin: Origin

  private enum Origin {
    case mapped
    case allocated
  }

  /// Maps an open file, which need not stay open.
  init(descriptor: Int32, size: Int, _ call: SystemCall) throws(FileError) {
    origin = .mapped
    guard size > 0 else {
      // The system maps no empty file.
      bytes = UnsafeRawBufferPointer(start: nil, count: 0)
      return
    }
    guard let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, descriptor, 0), start != MAP_FAILED else {
      throw call.error(errno)
    }
    bytes = UnsafeRawBufferPointer(start: start, count: size)
  }

  /// A copy of what an open file holds.
  init(copying file: some OpenFile) throws(FileError) {
    // As a mapping would begin.
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
