/// `heartlog seal`: the log, compressed.
struct SealCommand: Command {
  static let description = CommandDescription(
    name: "seal", group: .check, summary: "compress the log's open end into sealed segments",
    paragraphs: [
      "The store does this by itself as the log grows; before a backup it may be wanted at once. Bytes change, events do "
        + "not: numbers, hashes and digest stay."
    ],
    examples: [.init("heartlog seal", "Make the store small.")],
    endings: [.init(.tryAgain, "Another process is writing: try again.")])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode { throw CommandError.notYetHere(Self.description) }
}
