import Heartlog

extension CommandError {
  /// What a store's error means on the command line, and what to do next.
  init(_ error: HeartlogError) {
    let exitCode: ExitCode
    var hint: String?
    switch error.code {
    case .invalid, .invalidItem, .misuse: exitCode = .usage
    case .corrupt:
      exitCode = .badInput
      hint =
        error.isRepairable
        ? Self.repairHint
        : "Run \"heartlog verify\" for the whole picture; what is sound can still be read."
    case .newerFormat:
      exitCode = .badInput
      hint = "Install a newer Heartlog."
    case .notAStore:
      exitCode = .noStore
      hint = "Make one with \"heartlog init\", or name another with --store DIR."
    case .notFound: exitCode = .no
    case .exists:
      exitCode = .cannotCreate
      hint = "Choose another place with --store DIR."
    case .readOnly: exitCode = .cannotCreate
    case .diskFull:
      exitCode = .inputOutput
      hint =
        "Nothing that was acknowledged is lost; make room, or raise the limit that was met (disk quota, ulimit -f), and try again."
    case .inputOutput: exitCode = .inputOutput
    case .outcomeUnknown:
      exitCode = .inputOutput
      hint = "Look with \"heartlog log -n 5\" before you try again."
    case .cancelled, .wrongClock: exitCode = .tryAgain
    case .timedOut:
      exitCode = .tryAgain
      hint = "What came is kept; a sync goes on where this one ended."
    case .peer:
      exitCode = .badInput
      hint = "What came before is kept, and is sound."
    case .locked:
      exitCode = .tryAgain
      hint = "Try again when it is done."
    }
    self.init(exitCode, error.message, at: Self.place(error), hint: hint)
  }

  static let repairHint = "\"heartlog repair\" makes that file anew, and keeps what is left of it aside."

  private static func place(_ error: HeartlogError) -> String? {
    var parts: [String] = []
    if let file = error.file, !error.message.contains(file) { parts.append(file) }
    if let offset = error.offset { parts.append("offset \(offset)") }
    if let commits = error.commits {
      parts.append(
        commits.lowerBound == commits.upperBound
          ? "commit \(commits.lowerBound)" : "commits \(commits.lowerBound) to \(commits.upperBound)")
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}
