/// `heartlog apply`: many operations, one a line.
struct ApplyCommand: Command {
  private static let file = Argument(
    "FILE", form: "FILE|-", .optional, .file,
    "The operations, one JSON object a line. Without it or with -, standard input.")
  private static let acknowledges = Option.flag(
    "ack", "Print {\"ack\":LINE} for each line once it is safe on disk, and nothing before.")

  static let description = CommandDescription(
    name: "apply", group: .write, summary: "carry out operations from a file or a pipe, one a line",
    arguments: [file], options: [acknowledges],
    paragraphs: [
      "An operation is {\"op\":\"add|remove|toggle|set\",\"library\":…,\"id\":…} and, where it is wanted, \"fields\", "
        + "\"favoritedDate\", \"time\" (stands in for the clock) and \"commit\": neighbouring lines with the same commit are "
        + "written together or not at all.",
      "All is safe on disk when it exits 0. A bad line stops it and is named by its number; what came before it stays.",
    ],
    examples: [
      .init("heartlog apply fortnight.jsonl", "Play a file into the store."),
      .init(
        "echo '{\"op\":\"add\",\"library\":\"cities\",\"id\":\"2950159\"}' | heartlog apply --ack",
        "From a pipe, acknowledged line by line."),
    ],
    endings: [
      .init(.badInput, "A line is no operation; its number is told."),
      .init(.noStore, "There is no such store or file."),
    ])

  /// nil for standard input.
  let path: String?
  let acknowledges: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    let path = arguments.optionalText(Self.file)
    self.path = path == "-" ? nil : path
    acknowledges = arguments.has(Self.acknowledges)
  }

  func run(_ context: CommandContext) throws -> ExitCode { throw CommandError.notYetHere(Self.description) }
}
