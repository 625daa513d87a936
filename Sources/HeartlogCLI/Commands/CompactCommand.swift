import Heartlog

/// `heartlog compact`: leaves nothing in the store that need not be there.
struct CompactCommand: Command {
  static let description = CommandDescription(
    name: "compact", group: .check, summary: "make the store small, and look for what was erased",
    paragraphs: [
      "Seals and joins segments as \"heartlog seal\" does. If anything was ever erased, every file is searched first: content that is "
        + "still somewhere, for example because an erasure was interrupted, is taken out."
    ],
    examples: [.init("heartlog compact", "Make the store as small as it gets.")],
    endings: [.init(.tryAgain, "Another process is writing to the store: try again.")])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let report = try context.withByteProgress("compacting") { try store.compact(progress: $0) }
    try store.close()
    let (erased, sealed) = (ErasurePage(report: report.erased), SealPage(report: report.sealed))
    if context.isJSON {
      try context.jsonLine { json in
        erased.write(to: &json)
        sealed.write(to: &json)
      }
    } else {
      for line in erased.lines + [sealed.line] { try context.output.line(line) }
    }
    return try context.report(store.findings, includesTorn: true)
  }
}
