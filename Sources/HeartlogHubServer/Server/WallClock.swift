import Heartlog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

enum WallClock {
  /// Since 1970.
  static var seconds: UInt64 { UInt64(max(0, milliseconds() / 1_000)) }

  /// Since 1970.
  static func milliseconds() -> Milliseconds {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Milliseconds(time.tv_sec) * 1_000 + Milliseconds(time.tv_nsec) / 1_000_000
  }
}
