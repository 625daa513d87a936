/// A command of the program: what is said about it, how its arguments are read, what it does.
protocol Command: Sendable {
  static var description: CommandDescription { get }

  /// Takes what was typed into typed properties; refuses what cannot be meant.
  init(_ arguments: Arguments) throws(CommandError)

  func run(_ context: CommandContext) throws -> ExitCode
}
