/// `heartlog completions`: the script that completes the command line in a shell.
struct CompletionsCommand: Command {
  private static let shell = Argument(
    "SHELL", .required, .choice(ValueKind.shells), "One of \(ValueKind.shells.joined(separator: ", ")).")

  static let description = CommandDescription(
    name: "completions", group: .help, summary: "print a script that completes commands in your shell",
    arguments: [shell],
    paragraphs: [
      "Load the script from your shell's start-up file. It completes commands, options, libraries and files."
    ],
    examples: [
      .init("source <(heartlog completions bash)", "In ~/.bashrc."),
      .init("source <(heartlog completions zsh)", "In ~/.zshrc."),
      .init(
        "heartlog completions fish > ~/.config/fish/completions/heartlog.fish",
        "Once, for every fish to come."),
    ])

  private let shell: String

  init(_ arguments: Arguments) throws(CommandError) { shell = arguments.text(Self.shell) }

  func run(_ context: CommandContext) throws -> ExitCode {
    guard let script = Completions.script(shell: shell, table: .heartlog) else {
      throw CommandError.usage("there are no completions for \(Quoted(shell))")
    }
    try context.output.write(script)
    return .success
  }
}
