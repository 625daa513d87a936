/// The arguments and options of one command, looked up by their descriptions.
struct Arguments: Sendable {
  let command: CommandDescription
  private let positionals: [Argument: [String]]
  private let values: [Option: [String]]
  private let clock: LocalClock

  /// The parser has checked `positionals` and `values` against the description.
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
    precondition(argument.presence == .required, "only a required argument always has a text")
    return texts(argument).first ?? ""
  }

  /// The text of an optional argument; nil if it was not given.
  func optionalText(_ argument: Argument) -> String? { texts(argument).first }

  func texts(_ argument: Argument) -> [String] {
    precondition(command.arguments.contains(argument), "the command has no \(argument.name)")
    return positionals[argument] ?? []
  }

  /// Whether the option was given.
  func has(_ option: Option) -> Bool { !texts(option).isEmpty }

  func text(_ option: Option) -> String? { texts(option).first }

  /// The values of an option in the order given; each occurrence of a flag is an empty string.
  func texts(_ option: Option) -> [String] {
    precondition(command.options.contains(option), "the command has no \(option.spelling)")
    return values[option] ?? []
  }

  func count(_ option: Option) -> Int? { text(option).flatMap { Int($0) } }

  func moment(_ option: Option) throws(CommandError) -> Moment? {
    guard let text = text(option) else { return nil }
    return try Moment(text, label: option.spelling, clock: clock)
  }

  /// The moment of a required argument.
  func moment(_ argument: Argument) throws(CommandError) -> Moment {
    try Moment(text(argument), label: argument.name, clock: clock)
  }

  /// The moment of an optional argument; nil if it was not given.
  func optionalMoment(_ argument: Argument) throws(CommandError) -> Moment? {
    guard let text = optionalText(argument) else { return nil }
    return try Moment(text, label: argument.name, clock: clock)
  }

  /// The event that was given; nil if none was.
  func event(_ option: Option) -> Moment? { text(option).flatMap(Moment.event) }

  /// The events that were given.
  func events(_ argument: Argument) -> [Moment] { texts(argument).compactMap(Moment.event) }

  /// The fields given as `FIELD` arguments and with `--fields`.
  func fields() throws(CommandError) -> FieldArguments {
    try FieldArguments(assignments: texts(Argument.fields), object: text(Option.fields))
  }
}
