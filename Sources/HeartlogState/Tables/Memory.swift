import CHeartlogPlatform

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Memory that is allocated piece by piece and freed as a whole.
final class Slabs {
  private let pageBytes: Int
  private var slabs: [UnsafeMutableRawPointer] = []
  private var room: UnsafeMutableRawPointer?
  private var roomBytes = 0
  private var pages = 1
  private static let pagesMax = 64

  /// - Parameter pageBytes: the size of the largest piece.
  init(pageBytes: Int) { self.pageBytes = pageBytes }

  deinit { for slab in slabs { slab.deallocate() } }

  /// - Parameter count: a multiple of 64, at most a page.
  func allocate(_ count: Int) -> UnsafeMutableRawPointer {
    assert(count > 0 && count % 64 == 0 && count <= pageBytes, "a slab is divided at cache lines")
    if roomBytes < count {
      roomBytes = pageBytes * pages
      let slab = UnsafeMutableRawPointer.allocate(byteCount: roomBytes, alignment: 64)
      UnsafeMutableRawBufferPointer(start: slab, count: roomBytes).prefault()
      slabs.append(slab)
      room = slab
      pages = min(pages * 2, Self.pagesMax)
    }
    guard let start = room else { preconditionFailure("a slab was made") }
    room = start + count
    roomBytes -= count
    return start
  }
}

/// Memory of zeros, which costs nothing until it is touched if there is much of it.
final class ZeroedMemory {
  let start: UnsafeMutableRawPointer
  private let byteCount: Int
  /// For less, the system call is not worth it.
  private static let mappedBytesMin = 1 << 15

  /// Returns nil if the system has no such memory.
  init?(byteCount: Int) {
    self.byteCount = byteCount
    let memory =
      byteCount < Self.mappedBytesMin
      ? calloc(1, byteCount)
      : mmap(nil, byteCount, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
    guard let memory, memory != MAP_FAILED else { return nil }
    start = memory
    #if os(Linux)
      // Where all memory gets huge pages, two megabytes would be zeroed for the first byte.
      if byteCount >= Self.mappedBytesMin { _ = madvise(memory, byteCount, MADV_NOHUGEPAGE) }
    #endif
  }

  deinit {
    if byteCount < Self.mappedBytesMin {
      free(start)
    } else {
      munmap(start, byteCount)
    }
  }
}

extension UnsafeMutableRawBufferPointer {
  private static let systemPageBytes: UInt = 4_096
  /// Smaller buffers are not worth a system call.
  private static let prefaultBytesMin = 1 << 16

  /// Maps all pages of newly allocated memory in one system call, if the system can. Page faults at each first write cost a third more.
  func prefault() {
    #if os(Linux)
      guard count >= Self.prefaultBytesMin, let baseAddress else { return }
      // The first and last pages may be shared with other allocations; their bytes do not change.
      let start = UInt(bitPattern: baseAddress) & ~(Self.systemPageBytes - 1)
      let end =
        (UInt(bitPattern: baseAddress) + UInt(count) + Self.systemPageBytes - 1) & ~(Self.systemPageBytes - 1)
      // Linux before 5.14 rejects the advice, which does no harm.
      _ = madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_POPULATE_WRITE)
    #endif
  }
}

/// Prefetches memory, so that several cache misses are waited for together.
enum Prefetch {
  static let lineBytes = 64

  /// Prefetches cache lines from an address on. Has no effect past the end of mapped memory.
  @inline(__always)
  static func lines(_ count: Int, at address: UnsafeRawPointer) {
    for line in 0..<count { heartlog_prefetch(address + line * lineBytes) }
  }
}
