import Heartlog

/// `heartlog note`: shows, writes or clears the note of an item.
struct NoteCommand: Command {
  private static let text = Argument(
    "TEXT", .optional, .text, "The note to write. Without it, the note is shown.")
  private static let clear = Option.flag("clear", "Clear the note.")

  static let description = CommandDescription(
    name: "note", group: .write, summary: "show, write or clear the note of an item",
    arguments: [.library, .item, text], options: [clear],
    paragraphs: [
      "Every item can have a note, favorite or not. It is the item's field @note, and merges like any field."
    ],
    examples: [
      .init("heartlog note papers 2006.08594v1 'read before Monday'", "Write a note."),
      .init("heartlog note papers 2006.08594v1", "Show it."),
      .init("heartlog note papers 2006.08594v1 --clear", "Clear it."),
    ],
    endings: [.init(.no, "The item has no note to show or to clear, or has this one already.")])

  let library: String
  let item: String
  let text: String?
  let clears: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    item = arguments.text(.item)
    text = arguments.optionalText(Self.text)
    clears = arguments.has(Self.clear)
    if clears, text != nil {
      throw .usage("note takes TEXT or --clear, not both")
    }
    if text?.isEmpty == true {
      throw .usage("the note is empty", hint: "Clear it with --clear.")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    guard clears || text != nil else { return try show(context) }
    return try context.writeOne(
      library, item, otherwise: clears ? "has no note" : "already has this note"
    ) { library in
      let value = text.map(FieldValue.string) ?? .null
      return try library.set([Field(name: FavoritesLibrary.noteField, value: value)], of: item)
    }
  }

  private func show(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    guard let note = try store.library(library).note(of: item) else {
      let partial = try context.report(store.findings)
      guard partial == .success else { return partial }
      throw CommandError(.no, "\(Quoted(item)) in \(library) has no note")
    }
    if context.isJSON {
      try context.jsonLine { json in
        json.member("library", library)
        json.member("id", item)
        json.member("note", note)
        json.partial(store.findings)
      }
    } else {
      for line in note.split(separator: "\n", omittingEmptySubsequences: false) {
        try context.output.line(DisplayText.visible(String(line)))
      }
    }
    return try context.report(store.findings)
  }
}
