import Synchronization

/// Why standard output takes no more.
enum OutputError: Error, Equatable {
  /// Nobody reads it any more (EPIPE).
  case closed
  case failed(errno: Int32)
}

/// Standard output and standard error, or what stands in for them in a test.
///
/// Standard output is buffered; standard error is not, and what was printed before an error comes before it. A
/// line of progress is wiped before anything else is shown on its terminal.
final class Output: Sendable {
  /// Where bytes go, and what is known about it.
  struct Sink: Sendable {
    /// Writes all of the bytes; nil, or the errno that stopped it.
    let write: @Sendable (UnsafeRawBufferPointer) -> Int32?
    let isTerminal: Bool
    /// The columns of the terminal; nil where they are not known.
    let width: @Sendable () -> Int?
  }

  private struct State {
    var buffer: [UInt8] = []
    var failure: OutputError?
    var hasTransient = false
  }

  /// Large enough that a long listing costs few system calls, small enough to show soon.
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

  /// Hands on what is buffered: wherever somebody waits for the lines printed so far.
  func flush() throws(OutputError) {
    try state.withLock { (state) throws(OutputError) in try flush(&state) }
  }

  /// A line on standard error. That it cannot be written can be told to nobody.
  func errorLine(_ text: String) {
    state.withLock { state in
      _ = try? flush(&state)
      wipe(&state)
      put(text + "\n", to: error)
    }
  }

  /// Shows a line of progress in place of the last one. `text` is narrower than the terminal.
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
