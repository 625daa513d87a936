/// A command of the program: its description, its arguments, and what it does.
protocol Command: Sendable {
  static var description: CommandDescription { get }

  /// Converts the arguments into typed properties. Throws if their combination is invalid.
  init(_ arguments: Arguments) throws(CommandError)

  func run(_ context: CommandContext) throws -> ExitCode
}
