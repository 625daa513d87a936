import Heartlog

/// `heartlog status`: shows what the store contains.
struct StatusCommand: Command {
  static let description = CommandDescription(
    name: "status", group: .store, summary: "show what the store contains: libraries, replicas, size, digest",
    paragraphs: [
      "The digest covers everything that is visible: two stores that show the same have the same digest, on any machine."
    ],
    examples: [
      .init("heartlog status", "Show the status."),
      .init("heartlog status --json", "Print it as one JSON object."),
    ],
    endings: [.init(.badInput, "Part of the store is damaged; the sound part was shown.")])

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
