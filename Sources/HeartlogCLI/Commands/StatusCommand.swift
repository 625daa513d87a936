import Heartlog

/// `heartlog status`: what the store holds.
struct StatusCommand: Command {
  static let description = CommandDescription(
    name: "status", group: .store, summary: "show what the store holds: libraries, replicas, size, digest",
    paragraphs: [
      "The digest stands for all that is visible: two stores that show the same have the same digest, on any machine."
    ],
    examples: [
      .init("heartlog status", "A page to read."),
      .init("heartlog status --json", "One object for a program."),
    ],
    endings: [.init(.badInput, "A part of the store is damaged; what is sound is shown.")])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let status = try store.status()
    let isOpen = try FavoritesStore.isOpenToOthers(at: status.path)
    if context.isJSON {
      try context.jsonLine { json in
        StatusPage.write(status, to: &json)
        if isOpen { json.member("openToOthers", true) }
        json.partial(store.findings)
      }
    } else {
      for line in StatusPage.lines(status, style: context.style, width: context.width) {
        try context.output.line(line)
      }
    }
    try context.tellIfOpenToOthers()
    return try context.report(store.findings)
  }
}
