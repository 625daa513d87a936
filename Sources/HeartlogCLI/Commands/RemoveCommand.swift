import Heartlog

/// `heartlog remove`: an item is a favorite no longer.
struct RemoveCommand: Command {
  static let description = CommandDescription(
    name: "remove", group: .write, summary: "make an item a favorite no longer",
    arguments: [.library, .item],
    paragraphs: [
      "The item's fields stay, and so does its history: \"heartlog log LIBRARY ID\" shows it, and \"heartlog list LIBRARY "
        + "--all\" lists what was a favorite once."
    ],
    examples: [.init("heartlog remove papers 2006.08594v1", "Take a paper off the list.")],
    endings: [.init(.no, "It is no favorite; nothing was written.")])

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
