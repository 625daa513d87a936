/// All that is said about a command, in one place: what parses it, what helps with it, what completes it.
struct CommandDescription: Sendable {
  /// The tasks by which the help is grouped, in its order.
  enum Group: String, CaseIterable, Sendable {
    case store = "Store"
    case write = "Write"
    case read = "Read"
    case devices = "Devices"
    case check = "Maintenance"
    case help = "Help"
  }

  struct Example: Sendable {
    /// What is typed, from `heartlog` or the pipe before it on.
    let line: String
    /// What it does, in one sentence.
    let note: String

    init(_ line: String, _ note: String) {
      self.line = line
      self.note = note
    }
  }

  struct Ending: Sendable {
    let exitCode: ExitCode
    let meaning: String

    init(_ exitCode: ExitCode, _ meaning: String) {
      self.exitCode = exitCode
      self.meaning = meaning
    }
  }

  let name: String
  let group: Group
  /// A phrase that completes "heartlog NAME: …", without a full stop.
  let summary: String
  var arguments: [Argument] = []
  var options: [Option] = []
  let paragraphs: [String]
  let examples: [Example]
  /// The exit codes that mean something particular to this command.
  var endings: [Ending] = []

  /// The usage line, in parts that stay whole where it is broken.
  var usage: [String] { ["heartlog", name] + arguments.map(\.usage) + options.map(\.usage) }
}
