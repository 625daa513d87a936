/// What was typed for one command, looked up by the descriptions that its table entry is made of.
struct Arguments: Sendable {
  let command: CommandDescription
  private let positionals: [Argument: [String]]
  private let values: [Option: [String]]
  private let clock: LocalClock

  /// `positionals` and `values` have been checked against the description by the parser.
  init(
    command: CommandDescription, positionals: [Argument: [String]], values: [Option: [String]],
    clock: LocalClock
  ) {
    self.command = command
    self.positionals = positionals
    self.values = values
    self.clock = clock
  }

  /// The text of a required argument.
  func text(_ argument: Argument) -> String {
    precondition(argument.presence == .required, "only a required argument is always there")
    return texts(argument).first ?? ""
  }

  /// The text of an optional argument; nil where it was not given.
  func optionalText(_ argument: Argument) -> String? { texts(argument).first }

  func texts(_ argument: Argument) -> [String] {
    precondition(command.arguments.contains(argument), "the command has no \(argument.name)")
    return positionals[argument] ?? []
  }

  /// True where the option was given.
  func has(_ option: Option) -> Bool { !texts(option).isEmpty }

  func text(_ option: Option) -> String? { texts(option).first }

  /// The values of an option in the order given; a flag has an empty one each time.
  func texts(_ option: Option) -> [String] {
    precondition(command.options.contains(option), "the command has no \(option.spelling)")
    return values[option] ?? []
  }

  func count(_ option: Option) -> Int? { text(option).flatMap { Int($0) } }

  func moment(_ option: Option) throws(CommandError) -> Moment? {
    guard let text = text(option) else { return nil }
    return try Moment(text, label: option.spelling, clock: clock)
  }

  /// An event that was given; nil where none was.
  func event(_ option: Option) -> Moment? { text(option).flatMap(Moment.event) }

  /// The fields given as `FIELD` arguments and with `--fields`.
  func fields() throws(CommandError) -> FieldArguments {
    try FieldArguments(assignments: texts(Argument.fields), object: text(Option.fields))
  }
}
