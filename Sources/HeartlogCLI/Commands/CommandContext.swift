/// What a command finds around it.
struct CommandContext: Sendable {
  let output: Output
  /// The values of `Environment.names` that are set.
  let environment: [String: String]
  /// What `--store` gave.
  let storeOption: String?
  /// True where `--json` asks for JSON Lines.
  let isJSON: Bool
  let clock: LocalClock
  let untold: UntoldWrites
  let opened = OpenedStores()

  /// How standard output is coloured.
  var style: Style { Style(isEnabled: output.standard.isTerminal && Style.isWanted(environment)) }

  /// How standard error is coloured.
  var errorStyle: Style { Style(isEnabled: output.error.isTerminal && Style.isWanted(environment)) }

  /// The columns to which standard output is fitted; nil where it is no terminal, and nothing is cut.
  var width: Int? { output.standard.isTerminal ? output.standard.width() : nil }

  /// How standard output shows times.
  var times: TimeStyle { output.standard.isTerminal ? TimeStyle(zone: clock.zone) : .utc }

  /// Prints lines that have times in them, headed by their zone where that is not UTC.
  func linesWithTimes(_ lines: [String]) throws {
    if !lines.isEmpty, let heading = times.heading { try output.line(style(.faint, heading)) }
    for line in lines { try output.line(line) }
  }

  func storeDirectory() throws(CommandError) -> String {
    try StoreLocation.directory(option: storeOption, environment: environment)
  }

  /// A bar on standard error, or nothing where that is no terminal.
  func progress(_ label: String, total: Int? = nil) -> Progress {
    Progress(label, total: total, output: output, isShown: output.error.isTerminal)
  }
}
