#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension UnsafeMutableRawBufferPointer {
  private static let systemPageBytes: UInt = 4_096
  /// Less is not worth a system call.
  private static let prefaultBytesMin = 1 << 16

  /// Has the system map all pages of newly allocated memory in one call, where it can. Faulted one by one, at their first write, they cost a
  /// third more.
  func prefault() {
    #if os(Linux)
      guard count >= Self.prefaultBytesMin, let baseAddress else { return }
      // The first and the last page may be shared with other allocations, whose bytes do not change.
      let start = UInt(bitPattern: baseAddress) & ~(Self.systemPageBytes - 1)
      let end =
        (UInt(bitPattern: baseAddress) + UInt(count) + Self.systemPageBytes - 1) & ~(Self.systemPageBytes - 1)
      // Linux before 5.14 does not know the advice, and nothing is lost.
      _ = madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_POPULATE_WRITE)
    #endif
  }
}
