import Heartlog

/// `heartlog restore`: returns to a moment.
struct RestoreCommand: Command {
  private static let at = Option.value(
    "at", "WHEN", .moment, "The moment to return to; a date means its end, an event just after it.")
  private static let library = Option.value(
    "library", "LIBRARY", .library, "Restore only this library.")

  static let description = CommandDescription(
    name: "restore", group: .write, summary: "return favorites and fields to what they were",
    options: [at, library, UndoCommand.dryRun],
    paragraphs: [
      "Takes back everything after the moment, whichever device wrote it, by new events. What was not a favorite then is removed, and "
        + "fields that had no value then are cleared. \"heartlog undo --last\" takes it back."
    ],
    examples: [
      .init("heartlog restore --at yesterday --dry-run", "Show what differs from the end of yesterday."),
      .init(
        "heartlog restore --at \"2026-03-14 18:00\" --library papers", "Return to the papers of that time."),
      .init("heartlog restore --at 3f9a12c0:42", "Return to the moment after an event."),
    ],
    endings: [.init(.no, "Everything is as it was then; nothing was written.")])

  private let moment: Moment
  private let library: String?
  private let isDryRun: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    guard let moment = try arguments.moment(Self.at) else {
      throw .usage(
        "restore needs --at WHEN", hint: "Usage: \(Self.description.usage.joined(separator: " "))")
    }
    self.moment = moment
    library = arguments.text(Self.library)
    isDryRun = arguments.has(UndoCommand.dryRun)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.undo(isDryRun: isDryRun, nothing: "everything is as it was then") { store in
      .after(try moment.resolved(in: store), library: library)
    }
  }
}
