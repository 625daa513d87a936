/// `heartlog verify`: every byte of the log against its checksums and hashes.
struct VerifyCommand: Command {
  static let description = CommandDescription(
    name: "verify", group: .check, summary: "check every byte of the log",
    paragraphs: [
      "Prints the commits and the root hash of each device's stream. Two stores that print the same root for a stream hold "
        + "the same history of it."
    ],
    examples: [.init("heartlog verify", "Is all as it was written?")],
    endings: [.init(.badInput, "Something is damaged: file, byte offset and commits are named.")])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode { throw CommandError.notYetHere(Self.description) }
}
