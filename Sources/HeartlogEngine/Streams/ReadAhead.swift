import HeartlogFiles
/// Reads the frames of a stream. The next frames can be read while the last one is processed.
///
/// Unchecked: `state` says which thread uses the reader, and `state` is guarded by `monitor`.
final class ReadAhead: @unchecked Sendable {
  /// A frame, or the end that was found instead.
  struct Found {
    let next: StreamReader.Next
    /// The offset of the reader in its segment afterwards.
    let offset: UInt64
  }

  private let reader: StreamReader
  private let page: StoreLock.Page
  private let monitor = Monitor()
  private var state = State.idle
  /// Results that were read but not yet requested. Nothing is read after a result that is not rows.
  private var found: [Result<Found, any Error>] = []
  private var isWanted = true

  /// At most this many results are read ahead. Reading resumes when only half of them are left, because a sleeping thread takes
  /// some time to wake.
  private static let foundMax = 32

  private enum State {
    case idle
    /// A worker was requested and has not started yet. No thread waits for it.
    case asked
    case reading
  }

  init(_ reader: StreamReader, page: StoreLock.Page) {
    self.reader = reader
    self.page = page
  }

  /// Reads the next frame on another thread, if one is free; while the frames are rows, it continues with the following ones.
  ///
  /// - Precondition: The last result of `next` was a frame after which more may be read.
  func readAhead() {
    guard let pool = WorkerPool.helping else { return }
    let isAsked = monitor.withLock {
      guard case .idle = state, found.count <= Self.foundMax / 2, found.allSatisfy(\.mayReadAhead) else {
        return false
      }
      state = .asked
      return true
    }
    if isAsked { pool.run { self.work() } }
  }

  private func work() {
    let begins = monitor.withLock {
      guard case .asked = state else { return false }
      state = .reading
      return true
    }
    guard begins else { return }
    var goesOn = true
    while goesOn {
      let result = Result { try read() }
      goesOn = monitor.withLock {
        assert(found.count < Self.foundMax, "little is read ahead of its use")
        found.append(result)
        monitor.notifyAll()
        if isWanted, result.mayReadAhead, found.count < Self.foundMax { return true }
        state = .idle
        return false
      }
    }
  }

  private func read() throws -> Found {
    let next = try reader.next(page: page)
    return Found(next: next, offset: reader.cursor?.offset ?? 0)
  }

  func next() throws -> Found {
    let ahead = monitor.withLock { () -> Result<Found, any Error>? in
      while found.isEmpty, case .reading = state { monitor.wait() }
      guard found.isEmpty else { return found.removeFirst() }
      state = .idle
      return nil
    }
    return try ahead?.get() ?? read()
  }

  /// Returns when no thread is reading and none will start.
  func end() {
    monitor.withLock {
      isWanted = false
      if case .asked = state { state = .idle }
      while case .reading = state { monitor.wait() }
    }
  }
}

extension Result<ReadAhead.Found, any Error> {
  /// Whether the result is rows and more may be read after them.
  fileprivate var mayReadAhead: Bool {
    guard case .success(let found) = self, case .frame(.rows(let rows, _), _) = found.next else {
      return false
    }
    return rows.mayReadAhead
  }
}
