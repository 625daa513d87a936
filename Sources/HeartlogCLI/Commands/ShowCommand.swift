/// `heartlog show`: one item.
struct ShowCommand: Command {
  static let description = CommandDescription(
    name: "show", group: .read, summary: "show an item: whether it is a favorite, since when, its fields",
    arguments: [.library, .item],
    paragraphs: ["An item is shown as long as the store knows anything about it, favorite or not."],
    examples: [
      .init("heartlog show papers 2006.08594v1", "All that is known of a paper."),
      .init("heartlog show cities -- -7", "An id that begins with - may need -- before it."),
    ],
    endings: [.init(.no, "The store knows nothing of this item.")])

  let library: String
  let item: String

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    item = arguments.text(.item)
  }

  func run(_ context: CommandContext) throws -> ExitCode { throw CommandError.notYetHere(Self.description) }
}
