/// A command of the program: its description, and what it does.
protocol Command: Sendable {
  static var description: CommandDescription { get }

  /// Runs the command. Throws before it opens a store if the arguments do not fit together.
  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode
}

extension Command {
  static func misused(_ what: String) -> CommandError { description.misused(what) }
}

/// The commands, and the options that are valid with all of them. Parsing, help, completions and the man page are
/// generated from this table.
enum CommandTable {
  static let commands = types.map { $0.description }
  static let globalOptions: [Option] = [.store, .json, .version, .help]

  /// The commands of this program. The help lists the commands of a group in this order.
  static let types: [any Command.Type] = [
    InitCommand.self, StatusCommand.self,
    AddCommand.self, ToggleCommand.self, RemoveCommand.self, SetCommand.self,
    CollectionCommand.self, ApplyCommand.self, ImportCommand.self, UndoCommand.self, EraseCommand.self,
    ListCommand.self, ShowCommand.self, LogCommand.self, StatsCommand.self, DiffCommand.self,
    BlameCommand.self, ExportCommand.self,
    SyncCommand.self, PlacesCommand.self, InviteCommand.self, JoinCommand.self, HubCommand.self,
    ServeCommand.self, DevicesCommand.self, KeysCommand.self, ConflictsCommand.self,
    ReplayCommand.self, VerifyCommand.self, DoctorCommand.self, ProveCommand.self, InspectCommand.self,
    BackupCommand.self, RestoreBackupCommand.self, RepairCommand.self, CompactCommand.self,
    HelpCommand.self, CompletionsCommand.self, ManCommand.self,
  ]

  /// Does not make the descriptions of the commands after it: each start of the program pays for those that it makes.
  static subscript(name: String) -> CommandDescription? {
    types.lazy.map { $0.description }.first { $0.name == name }
  }

  /// The command called `name`. Throws an error that suggests the nearest one.
  static func command(named name: String) throws(CommandError) -> CommandDescription {
    if let command = self[name] { return command }
    throw .usage(
      "unknown command \(Quoted(name))",
      hint: NearestMatch.hint(for: name, among: commands.map(\.name))
        ?? "\"heartlog help\" lists the commands.")
  }

  static func commands(in group: CommandDescription.Group) -> [CommandDescription] {
    commands.filter { $0.group == group }
  }
}

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

  let name: String
  let group: Group
  /// A phrase that completes "heartlog NAME: …", without a full stop.
  let summary: String
  var arguments: [Argument] = []
  var options: [Option] = []
  /// Paragraphs and examples, separated by empty lines: `heartlog list books  # List the books.`. Taken apart only when it is shown. The last
  /// paragraph says what exit codes mean for this command, besides what they always mean.
  let page: String

  var paragraphs: [String] {
    blocks.filter { !Self.isExample($0[0]) }.map { $0.joined(separator: " ") }
  }

  /// Command lines, including a pipe before `heartlog`, and what each does, in one sentence.
  var examples: [(line: String, note: String)] {
    blocks.joined().filter(Self.isExample).map { line in
      let parts = line.split(separator: Self.noteMark)
      return (String(parts[0]), String(parts[1]))
    }
  }

  private static let noteMark = "  # "

  private var blocks: [[Substring]] {
    page.split(separator: "\n", omittingEmptySubsequences: false).split(whereSeparator: \.isEmpty).map(
      Array.init)
  }

  private static func isExample(_ line: Substring) -> Bool { line.contains(noteMark) }

  /// The parts of the usage line; lines break only between them.
  var usage: [String] { ["heartlog", name] + arguments.map(\.usage) + options.map(\.usage) }

  /// The error for arguments that do not fit together.
  func misused(_ what: String) -> CommandError {
    .usage(what, hint: "Usage: \(usage.joined(separator: " "))")
  }
}

/// A positional argument of a command.
struct Argument: Equatable, Sendable {
  enum Presence: Hashable, Sendable {
    case required
    case optional
    /// Zero or more. Only the last argument of a command can be variadic.
    case variadic
  }

  /// The name in the help, in capitals.
  let name: String
  /// What the usage line shows instead of the name.
  let form: String
  let presence: Presence
  let kind: ValueKind
  let summary: String

  init(
    _ name: String, form: String? = nil, _ presence: Presence = .required, _ kind: ValueKind = .text,
    _ summary: String
  ) {
    self.name = name
    self.form = form ?? name
    self.presence = presence
    self.kind = kind
    self.summary = summary
  }

  /// The argument in the usage line.
  var usage: String {
    switch presence {
    case .required: form
    case .optional: "[\(form)]"
    case .variadic: "[\(form) …]"
    }
  }
}

extension Argument {
  static let library = Argument(
    "LIBRARY", .required, .library,
    "One of \(ValueKind.libraries.dropLast().joined(separator: ", ")) and \(ValueKind.libraries.last ?? ""), "
      + "or a name of your own.")
  static let item = Argument("ID", .required, .item, "The item's id, as its library writes it.")
  static let fields = Argument(
    "FIELD", form: "FIELD=text | FIELD:=json", .variadic, .field,
    "A field to write: the value after = is text, the value after := is JSON (a number, true, null, a list …)."
  )
}

/// An option of a command: `--long VALUE`, `-s VALUE`, or a flag without a value.
struct Option: Equatable, Sendable {
  struct Value: Equatable, Sendable {
    /// The name in the help, in capitals.
    let name: String
    let kind: ValueKind
    /// The value if the next word is none; nil if the option always needs a value.
    var ifAbsent: String?

    /// `N`, or `[N]` if it may be absent.
    var synopsis: String { ifAbsent == nil ? name : "[\(name)]" }
  }

  let long: String?
  let short: Character?
  /// nil for a flag.
  let value: Value?
  let isRepeatable: Bool
  let summary: String

  static func flag(_ long: String, short: Character? = nil, _ summary: String) -> Option {
    Option(long: long, short: short, value: nil, isRepeatable: true, summary: summary)
  }

  /// With `ifAbsent`, the value may be absent: `--last`, `--last 3` or `--last=3`. The next word is its value only if it is one of that kind.
  static func value(
    _ long: String? = nil, short: Character? = nil, _ name: String, _ kind: ValueKind,
    isRepeatable: Bool = false, ifAbsent: String? = nil, _ summary: String
  ) -> Option {
    precondition(long != nil || short != nil, "an option needs a name")
    return Option(
      long: long, short: short, value: Value(name: name, kind: kind, ifAbsent: ifAbsent),
      isRepeatable: isRepeatable, summary: summary)
  }

  /// Whether the next word always is its value.
  var needsValue: Bool { value.map { $0.ifAbsent == nil } ?? false }

  /// The name without dashes, which no other option of a command has.
  var name: String { long ?? short.map(String.init) ?? "" }

  /// The names with their dashes, the short one first.
  var spellings: [String] { [short.map { "-\($0)" }, long.map { "--\($0)" }].compactMap { $0 } }

  /// The name in messages.
  var spelling: String { long.map { "--\($0)" } ?? spellings[0] }

  /// `-f, --follow` or `--limit N`.
  var synopsis: String { spellings.joined(separator: ", ") + (value.map { " \($0.synopsis)" } ?? "") }

  /// `[--limit N]`, the option in the usage line.
  var usage: String { "[\(spelling)\(value.map { " \($0.synopsis)" } ?? "")]\(isMany ? " …" : "")" }

  private var isMany: Bool { isRepeatable && value != nil }
}

extension Option {
  static let store = Option.value(
    "store", "DIR", .directory,
    "The store. Default: $HEARTLOG_STORE, or else a store in your data directory.")
  static let json = Option.flag("json", "Print JSON Lines: one object per line, for programs.")
  static let version = Option.flag("version", "Print the version.")
  static let help = Option.flag("help", short: "h", "Print help for heartlog or for a command.")

  static let deviceName = Option.value(
    "name", "NAME", .text, "The name of this device. Default: the name of the host.")
  static let stdio = Option.flag("stdio", "Use standard input and output.")
  static let join = Option.flag("join", "Join the vault of the peer, although this store belongs to another.")

  static let at = Option.value(
    "at", "WHEN", .moment,
    "Show what the store contained at that moment. A date means its end; an event or a commit means it and everything before it in the log's order."
  )
  static let fields = Option.value(
    "fields", "JSON", .json, "Fields as one JSON object, alone or together with FIELD arguments.")
  static let date = Option.value(
    "date", "WHEN", .date, "The favorited date: a date, a time, or \"2 days ago\". Default: now.")
}
