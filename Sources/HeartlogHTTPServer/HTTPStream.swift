import HeartlogFiles

/// What is sent on one connection as it comes. The connection is suspended while there is nothing.
package final class HTTPStream: Sendable {
  private struct State {
    var pending: [UInt8] = Array(":\n\n".utf8)
    var isSuspended = false
    var isEnded = false
    var lastSent = MonotonicClock.nanoseconds()
  }

  private let connection: HTTPConnection
  private let state = Monitor(State())

  /// Each stream has one all the time.
  static let bufferBytes = 1_024

  package init(_ connection: HTTPConnection) { self.connection = connection }

  /// Whether the client has not taken all that was sent.
  package var isBusy: Bool { state.withLock { !$0.pending.isEmpty && !$0.isSuspended } }

  /// Whether the client waits, and nothing was sent for so many nanoseconds.
  package func isSilent(_ now: UInt64, for silence: UInt64) -> Bool {
    state.withLock { $0.isSuspended && now >= $0.lastSent + silence }
  }

  /// Whether the client has not taken what was sent for so many nanoseconds.
  package func isStuck(_ now: UInt64, for silence: UInt64) -> Bool {
    state.withLock { !$0.pending.isEmpty && !$0.isSuspended && now >= $0.lastSent + silence }
  }

  /// Fills a buffer of the library with what is to be sent. Suspends the connection if there is nothing.
  ///
  /// - Returns: How many bytes were copied, or how the stream ends.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    state.withLock { state in
      if !state.pending.isEmpty {
        let count = min(state.pending.count, buffer.count)
        state.pending.withUnsafeBytes {
          buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<count]))
        }
        state.pending.removeFirst(count)
        return count
      }
      if state.isEnded { return -1 }
      state.isSuspended = true
      connection.suspend()
      return 0
    }
  }

  package func append(_ bytes: [UInt8]) {
    state.withLock { state in
      state.pending.append(contentsOf: bytes)
      state.lastSent = MonotonicClock.nanoseconds()
      wake(&state)
    }
  }

  /// Ends the stream once what waits was sent.
  package func finish() {
    state.withLock { state in
      state.isEnded = true
      wake(&state)
    }
  }

  private func wake(_ state: inout State) {
    guard state.isSuspended else { return }
    state.isSuspended = false
    connection.resume()
  }
}
