/// The completion scripts for shells.
enum Completions {
  /// The script for one of `ValueKind.shells`; nil for another.
  static func script(shell: String, table: CommandTable) -> String? {
    switch shell {
    case "bash": BashCompletion(table: table).script
    case "zsh": ZshCompletion(table: table).script
    case "fish": FishCompletion(table: table).script
    default: nil
    }
  }
}

extension CommandTable {
  /// The options that need a value, each with its command or `*` for all commands. Scripts skip these values when they
  /// count the arguments.
  var valuedOptions: [(scope: String, option: Option)] {
    let global = globalOptions.map { (scope: "*", option: $0) }
    let own = commands.flatMap { command in command.options.map { (scope: command.name, option: $0) } }
    return (global + own).filter { $0.option.needsValue }
  }
}
