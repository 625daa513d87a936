import Heartlog

extension CommandError {
  /// Maps a store's error to an exit code and a hint.
  init(_ error: HeartlogError) {
    let exitCode: ExitCode
    var hint: String?
    switch error.code {
    case .invalid, .invalidItem, .misuse: exitCode = .usage
    case .corrupt:
      exitCode = .badInput
      hint =
        error.isNotDownloaded
        ? Self.downloadHint
        : error.isRepairable
          ? Self.repairHint
          : "Run \"heartlog verify\" to find all damage. The sound part can still be read."
            + (error.isOfSegment ? " \(Self.mendHint)" : "")
    case .newerFormat:
      exitCode = .badInput
      hint = "Install a newer version of Heartlog."
    case .notAStore:
      exitCode = .noStore
      hint = "Create one with \"heartlog init\", or name another one with --store DIR."
    case .notFound: exitCode = .no
    case .exists:
      exitCode = .cannotCreate
      hint = "Choose another folder with --store DIR."
    case .readOnly: exitCode = .cannotCreate
    case .diskFull:
      exitCode = .inputOutput
      hint =
        "No acknowledged commit is lost. Make room, or raise the limit that was reached (disk quota, ulimit -f), and try again."
    case .inputOutput: exitCode = .inputOutput
    case .outcomeUnknown:
      exitCode = .inputOutput
      hint = "Check with \"heartlog log -n 5\" before you try again."
    case .cancelled, .wrongClock: exitCode = .tryAgain
    case .timedOut:
      exitCode = .tryAgain
      hint = "Received commits are kept; the next sync continues where this one ended."
    case .peer:
      exitCode = .badInput
      hint = "Commits that were received before this error are sound and are kept."
    case .otherVault:
      exitCode = .usage
      hint = "Nothing was exchanged. \"heartlog sync --join\" makes this store a member of the other vault."
    case .notAdmitted: exitCode = .no
    case .noKey:
      exitCode = .no
      guard !error.message.contains("heartlog keys") else { break }
      hint =
        "\"heartlog keys join -\" takes the recovery code; \"heartlog keys pair PEER\" gets the keys from a device that can be reached."
    case .locked:
      exitCode = .tryAgain
      hint = "Try again when it has finished."
    }
    self.init(exitCode, error.message, at: Self.location(error), hint: hint)
  }

  static let downloadHint = "Let the cloud client download the folder, and try again."

  static let repairHint = "\"heartlog repair\" rebuilds that file and keeps the damaged one beside it."

  static let mendHint = "\"heartlog repair --from PEER\" mends it with what another device or a folder has."

  private static func location(_ error: HeartlogError) -> String? {
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
