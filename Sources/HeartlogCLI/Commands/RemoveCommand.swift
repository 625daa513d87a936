import Heartlog

/// `heartlog remove`: removes an item from the favorites.
struct RemoveCommand: Command {
  static let description = CommandDescription(
    name: "remove", group: .write, summary: "remove an item from the favorites",
    arguments: [.library, .item],
    paragraphs: [
      "The item keeps its fields and its history: \"heartlog log LIBRARY ID\" shows the history, and \"heartlog list LIBRARY "
        + "--all\" also lists removed items."
    ],
    examples: [.init("heartlog remove papers 2006.08594v1", "Remove a paper.")],
    endings: [.init(.no, "The item is not a favorite; nothing was written.")])

  let library: String
  let item: String

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    item = arguments.text(.item)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.writeOne(library, item, otherwise: "is not a favorite") { try $0.remove(item) }
  }
}
