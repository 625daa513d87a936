import Heartlog
import HeartlogSync

/// Why a command ended: what went wrong, where, and what to do next.
struct CommandError: Error, Equatable, Sendable {
  var exitCode: ExitCode
  /// A phrase without its final full stop; after a colon, the file, the line or the commit.
  let what: String
  /// Complete sentences that say what to do next; nil if there is nothing to advise.
  var hint: String?

  init(_ exitCode: ExitCode, _ what: String, at location: String? = nil, hint: String? = nil) {
    self.exitCode = exitCode
    self.what = location.map { "\(what): \($0)" } ?? what
    self.hint = hint
  }

  static func usage(_ what: String, hint: String? = nil) -> CommandError {
    CommandError(.usage, what, hint: hint)
  }

  /// `what: where. what to do next`, without control characters and passwords: the parts may quote the input.
  var sentence: String {
    let text = ["\(what).", hint].compactMap(\.self).joined(separator: " ")
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
    case .badInput:
      "The input, the store or a backup is damaged, a peer violated the protocol, or the store has a newer format. What is sound was shown, "
        + "exported or received."
    case .noStore: "The store, the file, the folder, the backup or the peer does not exist."
    case .cannotCreate: "The store or file cannot be created, exists already, or is read-only."
    case .inputOutput:
      "Reading, writing or a connection failed, the disk is full, or a file would be larger than it may be."
    case .tryAgain:
      "Another process has locked the store or writes the backup, a peer or a hub was silent, a deadline came first, or this device's clock "
        + "is wrong: try again."
    }
  }
}

extension CommandError {
  /// Maps a store's error to an exit code and a hint.
  init(_ error: HeartlogError) {
    let (exitCode, hint): (ExitCode, String?) =
      switch error.code {
      case .invalid, .invalidItem, .misuse: (.usage, nil)
      case .corrupt where error.isNotDownloaded: (.badInput, Self.downloadHint)
      case .corrupt where error.isRepairable: (.badInput, Self.repairHint)
      case .corrupt:
        (
          .badInput,
          "Run \"heartlog verify\" to find all damage. The sound part can still be read."
            + (error.isOfSegment ? " \(Self.repairFromHint)" : "")
        )
      case .newerFormat: (.badInput, "Install a newer version of Heartlog.")
      case .notAStore:
        (.noStore, "Create one with \"heartlog init\", or name another one with --store DIR.")
      case .notFound, .notAdmitted: (.no, nil)
      case .exists: (.cannotCreate, "Choose another folder with --store DIR.")
      case .readOnly: (.cannotCreate, nil)
      case .diskFull:
        (
          .inputOutput,
          "No acknowledged commit is lost. Make room, or raise the limit that was reached (disk quota, ulimit -f), and try again."
        )
      case .inputOutput: (.inputOutput, nil)
      case .outcomeUnknown: (.inputOutput, "Check with \"heartlog log -n 5\" before you try again.")
      case .cancelled, .wrongClock: (.tryAgain, nil)
      case .timedOut:
        (.tryAgain, "Received commits are kept; the next sync continues where this one ended.")
      case .peer: (.badInput, "Commits that were received before this error are sound and are kept.")
      case .otherVault:
        (
          .usage,
          "Nothing was exchanged. \"heartlog sync --join\" makes this store a member of the other vault."
        )
      case .noKey where error.message.contains("heartlog keys"): (.no, nil)
      case .noKey:
        (
          .no,
          "\"heartlog keys join -\" takes the recovery code; \"heartlog keys pair PEER\" gets the keys from a device that can be reached."
        )
      case .locked: (.tryAgain, "Try again when it has finished.")
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
