import Heartlog

/// `heartlog add`: makes an item a favorite.
struct AddCommand: Command {
  static let description = CommandDescription(
    name: "add", group: .write, summary: "make an item a favorite",
    arguments: [.library, .item, .fields], options: [.fields, .date],
    paragraphs: [
      "Writes one event, and the fields whose values differ from those held. What is a favorite already stays as it is, "
        + "its date and its fields included, and nothing is written.",
      "A field is written FIELD=text, or FIELD:=json for a number, true, false, null, a list or an object; whichever of = "
        + "and := comes first decides. Quote what your shell would take apart.",
    ],
    examples: [
      .init("heartlog add papers 2006.08594v1 title=\"Roaring bitmaps\"", "A paper with its title."),
      .init(
        "heartlog add cities 2950159 name=Berlin lat:=52.52 lon:=13.41", "Numbers are JSON, so they take :=."),
      .init(
        "heartlog add books 7f0e4e6a --fields '{\"title\":\"Solaris\",\"duration\":27000}'",
        "All fields at once."),
      .init("heartlog add breeds hound/1.jpg --date 2024-12-24", "A favorite since that day."),
    ],
    endings: [.init(.no, "It is a favorite already; nothing was written.")])

  let favorite: FavoriteArguments

  init(_ arguments: Arguments) throws(CommandError) { favorite = try FavoriteArguments(arguments) }

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.writeOne(favorite.library, favorite.item, otherwise: "is already a favorite") { library in
      try library.add(favorite.item, fields: favorite.fields, favoritedDate: favorite.date)
    }
  }
}
