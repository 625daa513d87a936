/// The frames of a stream, of which the next one can be read while the last is worked on.
///
/// Unchecked: the reader belongs to whoever reads, which the state says, and that is touched in the monitor alone.
final class FramesAhead: @unchecked Sendable {
  private let reader: StreamReader
  private let page: StoreLock.Page
  private let monitor = Monitor()
  private var state = State.idle

  private enum State {
    case idle
    /// A worker has been asked, and has not begun: nobody waits for it.
    case asked
    case reading
    case read(Result<StreamReader.Next, any Error>)
  }

  init(_ reader: StreamReader, page: StoreLock.Page) {
    self.reader = reader
    self.page = page
  }

  /// Reads the next frame on another thread, where one is free.
  func readAhead() {
    guard let workers = Workers.helping else { return }
    monitor.withLock { state = .asked }
    workers.run { self.work() }
  }

  private func work() {
    let begins = monitor.withLock {
      guard case .asked = state else { return false }
      state = .reading
      return true
    }
    guard begins else { return }
    let result = Result { try reader.next(page: page) }
    monitor.withLock {
      state = .read(result)
      monitor.notifyAll()
    }
  }

  func next() throws -> StreamReader.Next {
    let ahead = monitor.withLock { () -> Result<StreamReader.Next, any Error>? in
      while case .reading = state { monitor.wait() }
      defer { state = .idle }
      guard case .read(let result) = state else { return nil }
      return result
    }
    return try ahead?.get() ?? reader.next(page: page)
  }
}
