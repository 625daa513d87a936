import HeartlogShipping

/// Why a command ended: what went wrong, where, and what to do next.
struct CommandError: Error, Equatable, Sendable {
  let exitCode: ExitCode
  /// A phrase without its final full stop.
  let what: String
  /// A file, a line or a commit; nil if `what` already says where.
  let location: String?
  /// Complete sentences that say what to do next; nil if there is nothing to advise.
  let hint: String?

  init(_ exitCode: ExitCode, _ what: String, at location: String? = nil, hint: String? = nil) {
    self.exitCode = exitCode
    self.what = what
    self.location = location
    self.hint = hint
  }

  static func usage(_ what: String, hint: String? = nil) -> CommandError {
    CommandError(.usage, what, hint: hint)
  }

  /// `what: where. what to do next`, without control characters and passwords: the parts may quote the input.
  var sentence: String {
    var text = what
    if let location { text += ": \(location)" }
    text += "."
    if let hint { text += " \(hint)" }
    return DisplayText.visible(SSHAddress.withoutPassword(text))
  }
}

extension CommandError {
  /// A copy of `error` with another exit code.
  init(_ error: CommandError, exitCode: ExitCode) {
    self.init(exitCode, error.what, at: error.location, hint: error.hint)
  }
}
