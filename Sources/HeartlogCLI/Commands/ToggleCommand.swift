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

  let library: String
  let item: String
  let fields: FieldArguments
  let date: Moment?

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    item = arguments.text(.item)
    fields = try arguments.fields()
    date = try arguments.moment(.date)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let fields = try fields.fields()
    return try context.writeOne(library, item, otherwise: "was not toggled") { library in
      try library.toggle(item, fields: fields, favoritedDate: date?.first)
    }
  }
}
