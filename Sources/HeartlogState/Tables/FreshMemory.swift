#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Memory that was allocated, and will soon be written to from its beginning to its end.
enum FreshMemory {
  private static let pageBytes: UInt = 4_096
  /// Less is not worth a call.
  private static let byteCountMin = 1 << 16

  /// Has the system make its pages at once, where it can: one by one, as they are first written to, they cost a third more.
  static func bring(_ memory: UnsafeMutableRawBufferPointer) {
    #if os(Linux)
      guard memory.count >= byteCountMin, let base = memory.baseAddress else { return }
      // The pages at both ends are partly others': that changes nothing of what they hold.
      let start = UInt(bitPattern: base) & ~(pageBytes - 1)
      let end = (UInt(bitPattern: base) + UInt(memory.count) + pageBytes - 1) & ~(pageBytes - 1)
      // Systems before Linux 5.14 refuse, and nothing is lost.
      _ = madvise(UnsafeMutableRawPointer(bitPattern: start), Int(end - start), MADV_POPULATE_WRITE)
    #endif
  }
}
