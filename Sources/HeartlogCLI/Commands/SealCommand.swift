import Heartlog

/// `heartlog seal`: compresses the log.
struct SealCommand: Command {
  static let description = CommandDescription(
    name: "seal", group: .check, summary: "compress the log's open end into sealed segments",
    paragraphs: [
      "The store does this by itself as the log grows; run it to shrink the store at once, for example before a backup. Bytes "
        + "change, events do not: numbers, hashes and digest stay the same."
    ],
    examples: [.init("heartlog seal", "Compress the log now.")],
    endings: [.init(.tryAgain, "Another process is writing to the store: try again.")])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let report = try context.withByteProgress("sealing") { try store.seal(progress: $0) }
    try store.close()
    let page = SealPage(report: report)
    if context.isJSON { try context.jsonLine(page.write) } else { try context.output.line(page.line) }
    return try context.report(store.findings, includesTorn: true)
  }
}
