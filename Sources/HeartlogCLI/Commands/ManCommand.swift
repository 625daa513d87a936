/// `heartlog man`: the man page, as roff.
struct ManCommand: Command {
  static let description = CommandDescription(
    name: "man", group: .help, summary: "print the man page, for man or for a file in your MANPATH",
    paragraphs: ["It is made from the same table as the help, and holds every command."],
    examples: [
      .init("heartlog man | man -l -", "Read it."),
      .init("heartlog man > /usr/local/share/man/man1/heartlog.1", "Install it."),
    ])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.output.write(ManPage(table: .heartlog).text)
    return .success
  }
}
