/// The commands, and the options that are valid with all of them. Parsing, help, completions and the man page are
/// generated from this table.
struct CommandTable: Sendable {
  let commands: [CommandDescription]
  let globalOptions: [Option]

  /// The commands of this program. The help lists the commands of a group in this order.
  static let types: [any Command.Type] = [
    InitCommand.self, StatusCommand.self,
    AddCommand.self, ToggleCommand.self, RemoveCommand.self, SetCommand.self, NoteCommand.self,
    CollectionCommand.self, ApplyCommand.self, ImportCommand.self, UndoCommand.self, RestoreCommand.self,
    EraseCommand.self,
    ListCommand.self, ShowCommand.self, LogCommand.self, StatsCommand.self, DiffCommand.self,
    BlameCommand.self, BisectCommand.self, ExportCommand.self,
    SyncCommand.self, HubCommand.self, ServeCommand.self,
    DevicesCommand.self, KeysCommand.self, ConflictsCommand.self,
    ReplayCommand.self, VerifyCommand.self, DoctorCommand.self, ProveCommand.self, ReportCommand.self,
    BackupCommand.self, RestoreBackupCommand.self, RepairCommand.self, CompactCommand.self,
    HelpCommand.self, CompletionsCommand.self, ManCommand.self,
  ]

  static let heartlog = CommandTable(
    commands: types.map { $0.description },
    globalOptions: [.store, .json, .version, .help])

  subscript(name: String) -> CommandDescription? { commands.first { $0.name == name } }

  /// The command called `name`. Throws an error that suggests the nearest one.
  func command(named name: String) throws(CommandError) -> CommandDescription {
    if let command = self[name] { return command }
    throw .usage(
      "unknown command \(Quoted(name))",
      hint: NearestMatch.hint(for: name, among: commands.map(\.name))
        ?? "\"heartlog help\" lists the commands.")
  }

  func commands(in group: CommandDescription.Group) -> [CommandDescription] {
    commands.filter { $0.group == group }
  }
}
