import HeartlogHub

/// How many bytes of bodies are in memory at a time. Unchecked: guarded by `condition`.
final class ByteBudget: @unchecked Sendable {
  private let condition = Condition()
  private var free: Int

  init(_ byteCount: Int) { free = byteCount }

  /// Takes bytes. Returns false if there are not so many.
  func take(_ byteCount: Int) -> Bool {
    condition.withLock {
      guard byteCount <= free else { return false }
      free -= byteCount
      return true
    }
  }

  /// Whether there are so many bytes.
  func has(_ byteCount: Int) -> Bool { condition.withLock { byteCount <= free } }

  func giveBack(_ byteCount: Int) { condition.withLock { free += byteCount } }
}
