import HeartlogFormat

/// Consecutive commits, each in its own frame, in the memory that they were read into.
struct CommitRows {
  private let rows: [CommitRow]
  /// Keeps the memory of the rows alive. Nil for a row that is valid only until the reader looks at the next frame.
  private let memory: WindowMemory?
  /// Whether there was more to read after the rows.
  private let isFollowed: Bool

  init(rows: [CommitRow], memory: WindowMemory?, isFollowed: Bool) {
    self.rows = rows
    self.memory = memory
    self.isFollowed = isFollowed
  }

  /// Whether the reader may continue while another thread processes the rows, and it is worth using another thread.
  var mayReadAhead: Bool { memory != nil && isFollowed }

  /// Calls `body` with the rows, which are valid until it returns.
  func withRows<R>(_ body: ([CommitRow]) throws -> R) rethrows -> R {
    try withExtendedLifetime(memory) { try body(rows) }
  }
}

/// The memory of a cursor's window.
final class WindowMemory: @unchecked Sendable {
  /// Written only while the cursor holds the only reference.
  let bytes: UnsafeMutableRawBufferPointer

  init(byteCount: Int) {
    bytes =
      byteCount == 0
      ? UnsafeMutableRawBufferPointer(start: nil, count: 0) : .allocate(byteCount: byteCount, alignment: 16)
  }

  deinit { bytes.deallocate() }
}
