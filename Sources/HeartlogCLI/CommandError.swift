import Heartlog
import HeartlogSync

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
  /// Any error that ends a command.
  init(describing error: any Error) {
    switch error {
    case let error as CommandError: self = error
    case let error as HeartlogError: self.init(error)
    case OutputError.failed(let number):
      self.init(.inputOutput, "cannot write standard output", at: Terminal.reason(number))
    default: self.init(.inputOutput, "\(error)")
    }
  }

  /// A copy of `error` with another exit code.
  init(_ error: CommandError, exitCode: ExitCode) {
    self.init(exitCode, error.what, at: error.location, hint: error.hint)
  }
}

/// The exit codes of the process. The numbers from 64 on are those of sysexits.h.
enum ExitCode: Int32, CaseIterable, Sendable {
  case success = 0
  /// The command succeeded and the answer is no: nothing to show, nothing to change, or a difference was found.
  case no = 1
  case usage = 64
  case badInput = 65
  case noStore = 66
  case cannotCreate = 73
  case inputOutput = 74
  case tryAgain = 75

  /// One line for the man page.
  var meaning: String {
    switch self {
    case .success: "Success."
    case .no: "The answer is no: nothing to show, nothing to change, or a difference was found."
    case .usage: "The command line was not understood."
    case .badInput: "The input or the store is damaged, or the store has a newer format."
    case .noStore: "The store or the file does not exist."
    case .cannotCreate: "The store or file cannot be created, or is read-only."
    case .inputOutput:
      "Reading or writing failed, the disk is full, or a file would be larger than it may be."
    case .tryAgain:
      "Another process has locked the store, a peer was silent, or this device's clock is wrong: try again."
    }
  }
}

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
            + (error.isOfSegment ? " \(Self.repairFromHint)" : "")
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

  static let contentIsChanging = CommandError(
    .tryAgain, "content is being erased from the store, or is arriving", hint: "Try again.")

  static let downloadHint = "Let the cloud client download the folder, and try again."

  static let repairHint = "\"heartlog repair\" rebuilds that file and keeps the damaged one beside it."

  static let repairFromHint =
    "\"heartlog repair --from PEER\" repairs it with what another device or a folder has."

  private static func location(_ error: HeartlogError) -> String? {
    var parts: [String] = []
    if let file = error.file, !error.message.contains(file) { parts.append(file) }
    if let offset = error.offset { parts.append("offset \(offset)") }
    if let commits = error.commits { parts.append(commits.phrase) }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }
}

extension ClosedRange<CommitNumber> {
  /// `commit 150`, `commits 150 to 160`.
  var phrase: String {
    lowerBound == upperBound ? "commit \(lowerBound)" : "commits \(lowerBound) to \(upperBound)"
  }
}
