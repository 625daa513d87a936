import Dispatch
import Heartlog

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The terminal in raw mode, with a screen of its own. Whoever starts it ends it, also when an error is thrown.
@MainActor final class Terminal {
  enum Input: Sendable {
    case keys([Key])
    case resized
    /// The input has ended, or a signal asks the program to end.
    case ended(signal: Int32?)
  }

  static var isThere: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

  /// Keys, changes of the size, and the end.
  let input: AsyncStream<Input>
  private let former: termios
  private let formerError: Int32
  private var shown: Frame?
  private var isEnded = false

  init() throws(HeartlogError) {
    var mode = termios()
    guard tcgetattr(STDIN_FILENO, &mode) == 0 else {
      throw HeartlogError(.inputOutput, "the terminal does not tell its mode")
    }
    former = mode
    formerError = dup(STDERR_FILENO)
    let (stream, continuation) = AsyncStream.makeStream(of: Input.self)
    input = stream
    guard signalPipe.reading >= 0 else { throw HeartlogError(.inputOutput, "there is no pipe for signals") }
    for number in [SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
      // Sources of libdispatch lose signals on Linux while the main thread waits for others.
      signal(number) { @Sendable number in
        let code = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = systemWrite(signalPipe.writing, &byte, 1)
        errno = code
      }
    }
    cfmakeraw(&mode)
    guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode) == 0 else {
      throw HeartlogError(.inputOutput, "the terminal cannot be put into raw mode")
    }
    DispatchQueue(label: "keys").async { Self.readKeys(continuation) }
    // What a debug build prints for developers would stand in the middle of the screen, which shows it in its own way.
    if isatty(STDERR_FILENO) == 1 {
      let nowhere = open("/dev/null", O_WRONLY)
      dup2(nowhere, STDERR_FILENO)
      close(nowhere)
    }
    // The alternate screen, no cursor.
    Self.write("\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J")
  }

  /// Gives the terminal back as it was.
  func end() {
    isEnded = true
    Self.write("\u{1B}[?25h\u{1B}[?1049l")
    dup2(formerError, STDERR_FILENO)
    var mode = former
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &mode)
  }

  var size: Frame.Size {
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
      return Frame.Size()
    }
    return Frame.Size(columns: Int(size.ws_col), rows: Int(size.ws_row))
  }

  func show(_ frame: Frame) {
    guard !isEnded else { return }
    if shown?.lines.count != frame.lines.count { Self.write("\u{1B}[2J") }
    Self.write(frame.sequences(after: shown))
    shown = frame
  }

  /// How long the rest of an escape sequence may take: over a slow connection it comes in two pieces.
  private nonisolated static var sequenceMilliseconds: Int32 { 50 }

  private nonisolated static func readKeys(_ continuation: AsyncStream<Input>.Continuation) {
    var decoder = KeyDecoder()
    var buffer = [UInt8](repeating: 0, count: 1024)
    while true {
      var ready = [STDIN_FILENO, signalPipe.reading].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
      let count = poll(&ready, 2, decoder.isWaiting ? sequenceMilliseconds : -1)
      if count == 0 { continuation.yield(.keys(decoder.finish())) }
      guard count > 0 else { continue }
      if ready[1].revents != 0, read(signalPipe.reading, &buffer, 1) == 1 {
        let number = Int32(buffer[0])
        continuation.yield(number == SIGWINCH ? .resized : .ended(signal: number))
      }
      guard ready[0].revents != 0 else { continue }
      let length = read(STDIN_FILENO, &buffer, buffer.count)
      if length < 0, errno == EINTR { continue }
      guard length > 0 else {
        continuation.yield(.ended(signal: nil))
        return
      }
      continuation.yield(.keys(decoder.keys(in: buffer.prefix(length))))
    }
  }

  private static func write(_ text: String) {
    var bytes = Array(text.utf8)[...]
    while !bytes.isEmpty {
      let count = bytes.withUnsafeBytes { systemWrite(STDOUT_FILENO, $0.baseAddress, $0.count) }
      // A terminal that is gone ends the input, too.
      guard count > 0 || errno == EINTR else { return }
      bytes = bytes.dropFirst(max(0, count))
    }
  }
}

/// Signals arrive here, because a handler may do little more than write.
private let signalPipe: (reading: Int32, writing: Int32) = {
  var ends: [Int32] = [-1, -1]
  return pipe(&ends) == 0 ? (ends[0], ends[1]) : (-1, -1)
}()

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, bytes, count)
}
