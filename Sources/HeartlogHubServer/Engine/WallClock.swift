import HeartlogFiles

/// The time since 1970.
enum WallClock {
  static var nanoseconds: Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int(time.tv_sec) * 1_000_000_000 + Int(time.tv_nsec)
  }

  static var seconds: UInt64 { UInt64(max(0, nanoseconds / 1_000_000_000)) }
}
