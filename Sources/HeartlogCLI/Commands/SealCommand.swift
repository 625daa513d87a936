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
    if context.isJSON {
      try context.jsonLine { json in
        json.member("replacedFiles", report.replacedFiles)
        json.member("sealedFiles", report.sealedFiles)
        json.member("events", report.events)
        json.member("bytesBefore", report.bytesBefore)
        json.member("bytesAfter", report.bytesAfter)
      }
    } else if report.sealedFiles == 0 {
      try context.output.line("everything is already sealed")
    } else {
      try context.output.line(
        "\(Quantity.count(report.replacedFiles, "segment")) sealed into \(report.sealedFiles): "
          + "\(Quantity.size(bytes: report.bytesBefore)) became \(Quantity.size(bytes: report.bytesAfter)), "
          + "\(Quantity.count(report.events, "event"))")
    }
    return try context.report(store.findings, includesTorn: true)
  }
}
