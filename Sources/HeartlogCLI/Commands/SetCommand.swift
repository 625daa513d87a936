import Heartlog

/// `heartlog set`: writes fields of an item.
struct SetCommand: Command {
  static let description = CommandDescription(
    name: "set", group: .write, summary: "write fields of an item, favorite or not",
    arguments: [.library, .item, .fields], options: [.fields],
    paragraphs: [
      "Writes the fields whose values differ from the stored ones, and does not change whether the item is a favorite. null "
        + "clears a field."
    ],
    examples: [
      .init("heartlog set books 7f0e4e6a currentPosition:=1834.5", "Save the position in a book."),
      .init("heartlog set settings playback playbackSpeed:=1.25", "Change a setting."),
      .init("heartlog set papers 2006.08594v1 @note:=null", "Clear a note."),
    ],
    endings: [.init(.no, "The item already has these values; nothing was written.")])

  let library: String
  let item: String
  let fields: FieldArguments

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    item = arguments.text(.item)
    fields = try arguments.fields()
    guard !fields.isEmpty else {
      throw .usage(
        "set needs a field to write", hint: "Usage: \(Self.description.usage.joined(separator: " "))")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let fields = try fields.fields()
    return try context.writeOne(library, item, otherwise: "already has these values") { library in
      try library.set(fields, of: item)
    }
  }
}
