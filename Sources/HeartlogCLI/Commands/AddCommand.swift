import Heartlog

/// `heartlog add`: makes an item a favorite.
struct AddCommand: Command {
  static let description = CommandDescription(
    name: "add", group: .write, summary: "make an item a favorite",
    arguments: [.library, .item, .fields], options: [.fields, .date],
    paragraphs: [
      "Writes one event with the fields whose values differ from the stored ones. If the item is already a favorite, nothing "
        + "is written: its date and its fields stay as they are.",
      "Write a field as FIELD=text, or as FIELD:=json for a number, true, false, null, a list or an object; whichever of = "
        + "and := comes first decides. Quote anything that your shell would interpret.",
    ],
    examples: [
      .init("heartlog add papers 2006.08594v1 title=\"Roaring bitmaps\"", "Add a paper with its title."),
      .init(
        "heartlog add cities 2950159 name=Berlin lat:=52.52 lon:=13.41",
        "Numbers are JSON, so use := for them."),
      .init(
        "heartlog add books 7f0e4e6a --fields '{\"title\":\"Solaris\",\"duration\":27000}'",
        "Give all fields at once."),
      .init("heartlog add breeds hound/1.jpg --date 2024-12-24", "Set the favorited date."),
    ],
    endings: [.init(.no, "The item is already a favorite; nothing was written.")])

  let favorite: FavoriteArguments

  init(_ arguments: Arguments) throws(CommandError) { favorite = try FavoriteArguments(arguments) }

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.writeOne(favorite.library, favorite.item, otherwise: "is already a favorite") { library in
      try library.add(favorite.item, fields: favorite.fields, favoritedDate: favorite.date)
    }
  }
}
