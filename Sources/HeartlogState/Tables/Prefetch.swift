import CXXHash

/// Asks for memory before it is read, so that the wait for one place passes while another is waited for.
enum Prefetch {
  static let lineBytes = 64

  /// The lines from an address on. Past the end of what is mapped nothing happens.
  @inline(__always)
  static func lines(_ count: Int, at address: UnsafeRawPointer) {
    for line in 0..<count { heartlog_prefetch(address + line * lineBytes) }
  }
}
