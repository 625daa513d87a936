import HeartlogEvents

/// Commits that follow each other, each of a frame of its own, where they lie in the memory that they were read to.
struct CommitRows {
  private let rows: [CommitRow]
  /// Keeps the rows where they are; nil for one that lies there until the reader looks at the next frame.
  private let memory: WindowMemory?
  /// There was more to read behind them.
  private let isFollowed: Bool

  init(rows: [CommitRow], memory: WindowMemory?, isFollowed: Bool) {
    self.rows = rows
    self.memory = memory
    self.isFollowed = isFollowed
  }

  /// Whether the reader may go on while somebody works on them, and it is worth another thread's while.
  var mayReadAhead: Bool { memory != nil && isFollowed }

  /// What `body` makes of the rows, which are there until it returns.
  func withRows<R>(_ body: ([CommitRow]) throws -> R) rethrows -> R {
    try withExtendedLifetime(memory) { try body(rows) }
  }
}

/// The memory of a reader's window.
final class WindowMemory: @unchecked Sendable {
  /// Written to by a reader that alone has it.
  let bytes: UnsafeMutableRawBufferPointer

  init(byteCount: Int) {
    bytes =
      byteCount == 0
      ? UnsafeMutableRawBufferPointer(start: nil, count: 0) : .allocate(byteCount: byteCount, alignment: 16)
  }

  deinit { bytes.deallocate() }
}
