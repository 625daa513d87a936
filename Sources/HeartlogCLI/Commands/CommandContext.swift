/// What a command runs with.
struct CommandContext: Sendable {
  let output: Output
  /// The values of `Environment.names` that are set.
  let environment: [String: String]
  /// The value of `--store`.
  let storeOption: String?
  /// Whether `--json` was given.
  let isJSON: Bool
  let clock: LocalClock
  let untold: UntoldWrites
  let opened = OpenedStores()

  /// The style of standard output.
  var style: Style { Style(isEnabled: output.standard.isTerminal && Style.isWanted(environment)) }

  /// The style of standard error.
  var errorStyle: Style { Style(isEnabled: output.error.isTerminal && Style.isWanted(environment)) }

  /// Prints a sentence on standard error, without control characters: it may quote names and paths.
  func warn(_ sentence: String) {
    output.errorLine("\(errorStyle(.failure, "heartlog:")) \(DisplayText.visible(sentence))")
  }

  /// The columns of standard output; nil if it is not a terminal, and nothing is cut.
  var width: Int? { output.standard.isTerminal ? output.standard.width() : nil }

  /// The style of times on standard output.
  var times: TimeStyle { output.standard.isTerminal ? TimeStyle(zone: clock.zone) : .utc }

  /// Prints lines that contain times, after a heading with their zone if it is not UTC.
  func linesWithTimes(_ lines: [String]) throws {
    if !lines.isEmpty, let heading = times.heading { try output.line(style(.faint, heading)) }
    for line in lines { try output.line(line) }
  }

  func storeDirectory() throws(CommandError) -> String {
    try StoreLocation.directory(option: storeOption, environment: environment)
  }

  /// A progress bar on standard error; shows nothing if that is not a terminal.
  func progress(_ label: String, total: Int? = nil) -> Progress {
    Progress(label, total: total, output: output, isShown: output.error.isTerminal)
  }
}
