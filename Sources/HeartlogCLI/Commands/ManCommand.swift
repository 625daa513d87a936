/// `heartlog man`: prints the man page as roff.
struct ManCommand: Command {
  static let description = CommandDescription(
    name: "man", group: .help, summary: "print the man page as roff",
    paragraphs: ["The page describes every command, as \"heartlog help\" does."],
    examples: [
      .init("heartlog man | man -l -", "Read the page."),
      .init("heartlog man > /usr/local/share/man/man1/heartlog.1", "Install the page."),
    ])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.output.write(ManPage(table: .heartlog).text)
    return .success
  }
}
