import CHeartlogPlatform

/// Prefetches memory, so that several cache misses are waited for together.
enum Prefetch {
  static let lineBytes = 64

  /// Prefetches cache lines from an address on. Has no effect past the end of mapped memory.
  @inline(__always)
  static func lines(_ count: Int, at address: UnsafeRawPointer) {
    for line in 0..<count { heartlog_prefetch(address + line * lineBytes) }
  }
}
