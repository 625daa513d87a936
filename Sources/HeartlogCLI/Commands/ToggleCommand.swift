import Heartlog

/// `heartlog toggle`: flips whether an item is a favorite.
struct ToggleCommand: Command {
  static let description = CommandDescription(
    name: "toggle", group: .write, summary: "flip whether an item is a favorite",
    arguments: [.library, .item, .fields], options: [.fields, .date],
    paragraphs: [
      "Prints whether the item is a favorite now. The event records the new state, so replay and merge never flip it again.",
      "Fields and a date are used if the item becomes a favorite; otherwise they are ignored, with a message.",
    ],
    examples: [
      .init(
        "heartlog toggle cities 2950159 name=Berlin country=DE", "Make a city a favorite, with its fields."),
      .init("heartlog toggle cities 2950159", "Toggle it again."),
    ])

  let favorite: FavoriteArguments

  init(_ arguments: Arguments) throws(CommandError) { favorite = try FavoriteArguments(arguments) }

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.writeOne(favorite.library, favorite.item, otherwise: "was not toggled") { library in
      try library.toggle(favorite.item, fields: favorite.fields, favoritedDate: favorite.date)
    }
  }
}
