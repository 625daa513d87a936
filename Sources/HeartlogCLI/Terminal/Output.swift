import Synchronization

/// An error of writing standard output.
enum OutputError: Error, Equatable {
  /// The reader closed the pipe (EPIPE).
  case closed
  case failed(errno: Int32)
}

/// Standard output and standard error, or their substitutes in tests.
///
/// Standard output is buffered and standard error is not; an error flushes standard output first. A progress line is
/// cleared before anything else is shown on its terminal.
final class Output: Sendable {
  /// The destination of bytes.
  struct Sink: Sendable {
    /// Writes all bytes. Returns nil, or the errno of the failure.
    let write: @Sendable (UnsafeRawBufferPointer) -> Int32?
    let isTerminal: Bool
    /// The columns of the terminal; nil if unknown.
    let width: @Sendable () -> Int?
  }

  private struct State {
    var buffer: [UInt8] = []
    var failure: OutputError?
    var hasTransient = false
  }

  /// Large enough that a long listing needs few system calls, small enough to appear soon.
  private static let bufferBytesMax = 64 << 10

  let standard: Sink
  let error: Sink
  private let state = Mutex(State())

  init(standard: Sink, error: Sink) {
    self.standard = standard
    self.error = error
  }

  static func ofProcess(environment: [String: String]) -> Output {
    Output(
      standard: Terminal.sink(descriptor: 1, environment: environment),
      error: Terminal.sink(descriptor: 2, environment: environment))
  }

  func write(_ text: String) throws(OutputError) {
    try state.withLock { (state) throws(OutputError) in
      if let failure = state.failure { throw failure }
      state.buffer.append(contentsOf: text.utf8)
      if state.buffer.count >= Self.bufferBytesMax { try flush(&state) }
    }
  }

  func line(_ text: String = "") throws(OutputError) {
    try state.withLock { (state) throws(OutputError) in
      if let failure = state.failure { throw failure }
      state.buffer.append(contentsOf: text.utf8)
      state.buffer.append(UInt8(ascii: "\n"))
      if state.buffer.count >= Self.bufferBytesMax { try flush(&state) }
    }
  }

  /// Writes the buffered lines. Call it when a reader waits for them.
  func flush() throws(OutputError) {
    try state.withLock { (state) throws(OutputError) in try flush(&state) }
  }

  /// Prints a line on standard error. Ignores failures, which cannot be reported anywhere.
  func errorLine(_ text: String) {
    state.withLock { state in
      _ = try? flush(&state)
      wipe(&state)
      put(text + "\n", to: error)
    }
  }

  /// Replaces the progress line. `text` must be narrower than the terminal.
  func showTransient(_ text: String) {
    state.withLock { state in
      put("\r\(text)\u{1B}[K", to: error)
      state.hasTransient = true
    }
  }

  func clearTransient() {
    state.withLock { state in wipe(&state) }
  }

  private func wipe(_ state: inout State) {
    guard state.hasTransient else { return }
    put("\r\u{1B}[K", to: error)
    state.hasTransient = false
  }

  private func flush(_ state: inout State) throws(OutputError) {
    if let failure = state.failure { throw failure }
    guard !state.buffer.isEmpty else { return }
    if standard.isTerminal { wipe(&state) }
    let number = state.buffer.withUnsafeBytes { standard.write($0) }
    state.buffer.removeAll(keepingCapacity: true)
    if let number {
      let failure = number == Terminal.brokenPipe ? OutputError.closed : .failed(errno: number)
      state.failure = failure
      throw failure
    }
  }

  private func put(_ text: String, to sink: Sink) {
    var text = text
    text.withUTF8 { _ = sink.write(UnsafeRawBufferPointer($0)) }
  }
}
