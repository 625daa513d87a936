import Heartlog

/// `heartlog status`: shows what the store contains.
struct StatusCommand: Command {
  static let description = CommandDescription(
    name: "status", group: .store, summary: "show what the store contains: libraries, devices, size",
    options: [.at],
    paragraphs: [
      "The digest covers everything that is visible: two stores that show the same have the same digest, on any machine."
    ],
    examples: [
      .init("heartlog status", "Show the status."),
      .init("heartlog status --at 2026-03-02", "Show what it was at the end of that day."),
      .init("heartlog status --json", "Print it as one JSON object."),
    ],
    endings: [.init(.badInput, "Part of the store is damaged; the sound part was shown.")])

  let moment: Moment?

  init(_ arguments: Arguments) throws(CommandError) { moment = try arguments.moment(.at) }

  func run(_ context: CommandContext) throws -> ExitCode {
    let view = try context.openForReading(at: moment)
    let status = try view.status()
    let isOpen = try FavoritesStore.isOpenToOthers(at: status.path)
    try context.show(status, of: view, isOpenToOthers: isOpen)
    try context.tellIfOpenToOthers()
    return try context.report(view.findings)
  }
}
