/// `heartlog completions`: prints a shell completion script.
struct CompletionsCommand: Command {
  private static let shell = Argument(
    "SHELL", .required, .choice(ValueKind.shells), "One of \(ValueKind.shells.joined(separator: ", ")).")

  static let description = CommandDescription(
    name: "completions", group: .help, summary: "print a completion script for your shell",
    arguments: [shell],
    paragraphs: [
      "Load the script in your shell's startup file. It completes commands, options, libraries and files, and the ids, devices and "
        + "collections of your store."
    ],
    examples: [
      .init("source <(heartlog completions bash)", "Add this line to ~/.bashrc."),
      .init("source <(heartlog completions zsh)", "Add this line to ~/.zshrc."),
      .init(
        "heartlog completions fish > ~/.config/fish/completions/heartlog.fish",
        "Run this once; fish loads the file by itself."),
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
