/// The description of a command, from which parsing, help, man page and completions are generated.
struct CommandDescription: Sendable {
  /// The groups of commands, in the order of the help.
  enum Group: String, CaseIterable, Sendable {
    case store = "Store"
    case write = "Write"
    case read = "Read"
    case devices = "Devices"
    case check = "Maintain"
    case help = "Help"
  }

  struct Example: Sendable {
    /// The command line, including a pipe before `heartlog`.
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
  /// The exit codes that have a particular meaning for this command.
  var endings: [Ending] = []

  /// The parts of the usage line; lines break only between them.
  var usage: [String] { ["heartlog", name] + arguments.map(\.usage) + options.map(\.usage) }
}
