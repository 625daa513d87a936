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
