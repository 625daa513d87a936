/// `heartlog help`: prints the overview, or the page of one command.
struct HelpCommand: Command {
  private static let topic = Argument("COMMAND", .optional, .command, "The command to describe.")

  static let description = CommandDescription(
    name: "help", group: .help, summary: "print help for heartlog or for a command",
    arguments: [topic],
    paragraphs: ["Without COMMAND, lists all commands. \"heartlog COMMAND --help\" prints the same page."],
    examples: [.init("heartlog help add", "Print the help of add.")])

  private let topic: String?

  init(_ arguments: Arguments) throws(CommandError) { topic = arguments.optionalText(Self.topic) }

  func run(_ context: CommandContext) throws -> ExitCode {
    let command = try topic.map { try CommandTable.heartlog.command(named: $0) }
    let page = HelpPage(table: .heartlog, style: context.style, width: context.width)
    try context.output.write(page.text(command))
    return .success
  }
}
