/// The frames of a stream, of which the next ones can be read while the last is worked on.
///
/// Unchecked: the reader belongs to whoever reads, which the state says, and that is touched in the monitor alone.
final class ReadAhead: @unchecked Sendable {
  /// A frame, or what else was found there.
  struct Found {
    let next: StreamReader.Next
    /// Where the reader stood in its segment after that.
    let offset: UInt64
  }

  private let reader: StreamReader
  private let page: StoreLock.Page
  private let monitor = Monitor()
  private var state = State.idle
  /// What was read and not asked for yet. Behind anything but rows there is nothing.
  private var found: [Result<Found, any Error>] = []
  private var isWanted = true

  /// So many times rows are read ahead, and read on when half of these are worked on: a thread that sleeps takes some time to wake.
  private static let foundMax = 32

  private enum State {
    case idle
    /// A worker has been asked, and has not begun: nobody waits for it.
    case asked
    case reading
  }

  init(_ reader: StreamReader, page: StoreLock.Page) {
    self.reader = reader
    self.page = page
  }

  /// Reads on on another thread, where one is free: the next frame, and as long as these are rows, some more.
  ///
  /// - Precondition: what `next` gave last was one that more may be read behind.
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

  /// Returns when nobody reads, and nobody will.
  func end() {
    monitor.withLock {
      isWanted = false
      if case .asked = state { state = .idle }
      while case .reading = state { monitor.wait() }
    }
  }
}

extension Result<ReadAhead.Found, any Error> {
  /// Whether it is rows, and more may be read behind them.
  fileprivate var mayReadAhead: Bool {
    guard case .success(let found) = self, case .frame(.rows(let rows, _), _) = found.next else {
      return false
    }
    return rows.mayReadAhead
  }
}
