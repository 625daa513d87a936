/// The scripts that let shells complete the command line.
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
  /// `COMMAND:SPELLING` of each option that takes a value, `*` for any command: what a script has to skip to count
  /// the arguments.
  var valuedOptions: [(scope: String, option: Option)] {
    let global = globalOptions.map { (scope: "*", option: $0) }
    let own = commands.flatMap { command in command.options.map { (scope: command.name, option: $0) } }
    return (global + own).filter { $0.option.value != nil }
  }
}
