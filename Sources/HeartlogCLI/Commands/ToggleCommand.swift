import Heartlog

/// `heartlog toggle`: flips whether an item is a favorite.
struct ToggleCommand: Command {
  static let description = CommandDescription(
    name: "toggle", group: .write, summary: "flip whether an item is a favorite",
    arguments: [.library, .item, .fields], options: [.fields, .date],
    paragraphs: [
      "Goes by what the store holds, and says what the item is now. The event records what it switched to, so that replay "
        + "and merge never flip twice.",
      "Fields and a date are taken where it switches on; where it switches off they are ignored, and it says so.",
    ],
    examples: [
      .init("heartlog toggle cities 2950159 name=Berlin country=DE", "On, with its fields."),
      .init("heartlog toggle cities 2950159", "And off again."),
    ])

  let favorite: FavoriteArguments

  init(_ arguments: Arguments) throws(CommandError) { favorite = try FavoriteArguments(arguments) }

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.writeOne(favorite.library, favorite.item, otherwise: "was not toggled") { library in
      try library.toggle(favorite.item, fields: favorite.fields, favoritedDate: favorite.date)
    }
  }
}
