import Synchronization

// The C library, for all files of this module.
#if canImport(Darwin)
  @_exported import Darwin
#elseif canImport(Musl)
  @_exported import Musl
#else
  @_exported import Glibc
#endif

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

  func write(_ text: String) throws(OutputError) { try write(text, end: "") }

  func line(_ text: String = "") throws(OutputError) { try write(text, end: "\n") }

  func lines(_ texts: [String]) throws(OutputError) { for text in texts { try line(text) } }

  private func write(_ text: String, end: String) throws(OutputError) {
    try state.withLock { (state) throws(OutputError) in
      if let failure = state.failure { throw failure }
      state.buffer.append(contentsOf: text.utf8)
      state.buffer.append(contentsOf: end.utf8)
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

/// Functions on file descriptors that may be terminals.
enum Terminal {
  static let brokenPipe = EPIPE

  /// The reason of a system call's failure, for people.
  static func reason(_ number: Int32 = errno) -> String { String(cString: strerror(number)) }

  static func sink(descriptor: Int32, environment: [String: String]) -> Output.Sink {
    let columns = environment["COLUMNS"].flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
    return Output.Sink(
      write: { writeAll($0, to: descriptor) },
      isTerminal: isatty(descriptor) == 1,
      width: { width(of: descriptor) ?? columns })
  }

  /// The columns that the terminal reports.
  private static func width(of descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }

  /// Writes all of `bytes`. Returns nil, or the errno of the failure.
  static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
      // `rest` is a slice of `bytes`, which has a base address because it is not empty.
      let slice = UnsafeRawBufferPointer(rebasing: rest)
      let count = write(descriptor, slice.baseAddress, slice.count)
      if count >= 0 {
        rest = rest.dropFirst(count)
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        // The pipe is non-blocking: wait until it accepts more.
        var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&ready, 1, -1)
      default: return errno
      }
    }
    return nil
  }
}

extension Terminal {
  /// Opens placeholders for standard input, output and error if they are closed. Otherwise the next file that is opened,
  /// perhaps one of the store, would get such a number and be used as a standard stream.
  static func occupyStandardDescriptors() {
    // With the opposite access mode, so that reading and writing fail as on a closed descriptor.
    for (descriptor, mode) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)] as [(Int32, Int32)]
    where fcntl(descriptor, F_GETFD) < 0 {
      // open uses the lowest free number, and all lower ones are in use.
      _ = open("/dev/null", mode)
    }
  }

  static func pause(milliseconds: UInt32) { usleep(milliseconds * 1_000) }

  /// The host name; empty if it is unknown.
  static func hostName() -> String {
    var name = [CChar](repeating: 0, count: 256)
    guard gethostname(&name, name.count - 1) == 0 else { return "" }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(validating: bytes, as: UTF8.self) ?? ""
  }
}
