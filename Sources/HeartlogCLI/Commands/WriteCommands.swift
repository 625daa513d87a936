import Heartlog

/// `heartlog add`: makes an item a favorite.
enum AddCommand: Command {
  static let description = CommandDescription(
    name: "add", group: .write, summary: "make an item a favorite",
    arguments: [.library, .item, .fields], options: [.fields, .date],
    page: #"""
      Writes one event with the fields whose values differ from the stored ones. If the item is already a favorite, nothing is written: its date
      and its fields stay as they are.

      Write a field as FIELD=text, or as FIELD:=json for a number, true, false, null, a list or an object; whichever of = and := comes first
      decides. Quote anything that your shell would interpret.

      heartlog add papers 2006.08594v1 title="Roaring bitmaps"  # Add a paper with its title.
      heartlog add cities 2950159 name=Berlin lat:=52.52 lon:=13.41  # Numbers are JSON, so use := for them.
      heartlog add books 7f0e4e6a --fields '{"title":"Solaris","duration":27000}'  # Give all fields at once.
      heartlog add breeds hound/1.jpg --date 2024-12-24  # Set the favorited date.

      Exit code 1: The item is already a favorite; nothing was written.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let target = try ItemArguments(arguments)
    return try context.writeOne(target.library, target.item, otherwise: "is already a favorite") {
      try $0.perform(.add(fields: target.fields, favoritedDate: target.date), on: target.item)
    }
  }
}

/// `heartlog toggle`: flips whether an item is a favorite.
enum ToggleCommand: Command {
  static let description = CommandDescription(
    name: "toggle", group: .write, summary: "flip whether an item is a favorite",
    arguments: [.library, .item, .fields], options: [.fields, .date],
    page: """
      Prints whether the item is a favorite now. The event records the new state, so replay and merge never flip it again.

      Fields and a date are used if the item becomes a favorite; otherwise they are ignored, with a message.

      heartlog toggle cities 2950159 name=Berlin country=DE  # Make a city a favorite, with its fields.
      heartlog toggle cities 2950159  # Toggle it again.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let target = try ItemArguments(arguments)
    return try context.writeOne(target.library, target.item, otherwise: "was not toggled") {
      try $0.perform(.toggle(fields: target.fields, favoritedDate: target.date), on: target.item)
    }
  }
}

/// `heartlog remove`: removes an item from the favorites.
enum RemoveCommand: Command {
  static let description = CommandDescription(
    name: "remove", group: .write, summary: "remove an item from the favorites",
    arguments: [.library, .item],
    page: #"""
      The item keeps its fields and its history: "heartlog log LIBRARY ID" shows the history, and "heartlog list LIBRARY --all" also lists
      removed items.

      heartlog remove papers 2006.08594v1  # Remove a paper.

      Exit code 1: The item is not a favorite; nothing was written.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let item = arguments.text(.item)
    return try context.writeOne(arguments.text(.library), item, otherwise: "is not a favorite") {
      try $0.perform(.remove, on: item)
    }
  }
}

/// `heartlog set`: writes fields of an item.
enum SetCommand: Command {
  static let description = CommandDescription(
    name: "set", group: .write, summary: "write fields of an item, favorite or not",
    arguments: [.library, .item, .fields], options: [.fields],
    page: """
      Writes the fields whose values differ from the stored ones, and does not change whether the item is a favorite. null clears a field. The
      field @note is the note of the item.

      heartlog set books 7f0e4e6a currentPosition:=1834.5  # Save the position in a book.
      heartlog set settings playback playbackSpeed:=1.25  # Change a setting.
      heartlog set papers 2006.08594v1 @note='read before Monday'  # Write a note.
      heartlog set papers 2006.08594v1 @note:=null  # Clear it.

      Exit code 1: The item already has these values; nothing was written.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let target = try ItemArguments(arguments)
    if target.fields.isEmpty { throw misused("set needs a field to write") }
    return try context.writeOne(target.library, target.item, otherwise: "already has these values") {
      try $0.perform(.set(fields: target.fields), on: target.item)
    }
  }
}

extension CommandContext {
  /// Runs `body` as one commit, and notes what was written.
  func write<R>(to store: FavoritesStore, _ body: () throws -> R) throws -> (result: R, commit: Commit?) {
    let written = try store.commit { try body() }
    note(written.commit)
    return written
  }

  /// Notes a commit that was written but not reported yet.
  func note(_ commit: Commit?) {
    if let commit { unreported.add(Self.phrase(commit)) }
  }

  /// Executes one operation as one commit, and prints what it did.
  ///
  /// - Parameter otherwise: the message about the item if there was nothing to write; the exit code is then 1.
  func writeOne(
    _ library: String, _ item: String, otherwise: String,
    _ operation: (FavoritesLibrary) throws -> WriteResult
  ) throws -> ExitCode {
    let store = try openForWriting()
    let target = try store.library(library)
    let (result, commit) = try write(to: store) { try operation(target) }
    let code = try close(store)
    guard let commit, result.isChange else {
      throw CommandError(.no, "\(Quoted(item)) in \(library) \(otherwise)", hint: "Nothing was written.")
    }
    for line in EventLine.all(of: commit) {
      let state = style.heart(result.isFavorite)
      try show(
        line.json, ["\(state) \(DisplayText.visible("\(library) \(item)"))  \(style(.faint, line.shortID))"])
    }
    if result.ignoredFields || result.ignoredFavoritedDate {
      try output.flush()
      warn("fields and dates are used only if the item becomes a favorite; they were ignored.")
    }
    return code
  }

  /// The number of events that a note names; it only counts the others.
  private static let noteEventsMax = 3

  /// `cities 2950159 is a favorite now (3f9a12c0:351)`.
  private static func phrase(_ commit: Commit) -> String {
    let lines = EventLine.all(of: commit)
    var notes = lines.prefix(noteEventsMax).map { line in
      guard let event = line.record.event else { return "event \(line.shortID)" }
      let what =
        switch event.action.isFavorite {
        case true?: "is a favorite now"
        case false?: "is not a favorite now"
        case nil: "has new fields"
        }
      return "\(event.library) \(DisplayText.identifier(event.item)) \(what) (\(line.shortID))"
    }
    if lines.count > noteEventsMax, let last = lines.last {
      notes.append("\(Quantity.count(lines.count - noteEventsMax, "more event")) up to \(last.shortID)")
    }
    return notes.joined(separator: ", ")
  }
}
