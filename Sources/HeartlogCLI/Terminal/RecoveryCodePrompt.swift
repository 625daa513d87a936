#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Asks for a recovery code, which must stand neither in the list of processes nor in the history of a shell.
enum RecoveryCodePrompt {
  /// Reads a line from the terminal, which does not show it, or from standard input.
  static func read(_ context: CommandContext) throws -> String {
    var settings = termios()
    let isTerminal = tcgetattr(STDIN_FILENO, &settings) == 0
    if isTerminal {
      try context.output.flush()
      context.output.errorLine("recovery code (not shown):")
      var silent = settings
      silent.c_lflag &= ~tcflag_t(ECHO)
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
    }
    defer { if isTerminal { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) } }
    guard let line = try LineReader(nil).next({ String(decoding: $0.prefix(lineBytesMax), as: UTF8.self) })
    else {
      throw CommandError(.usage, "no recovery code was entered", hint: "It is read from standard input.")
    }
    return line
  }

  private static let lineBytesMax = 2_048
}
