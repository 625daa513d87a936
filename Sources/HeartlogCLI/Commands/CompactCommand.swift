import Heartlog

/// `heartlog compact`: leaves nothing in the store that need not be there.
struct CompactCommand: Command {
  static let description = CommandDescription(
    name: "compact", group: .check, summary: "make the store small and quick to open",
    paragraphs: [
      "Compresses the log's open end into sealed segments, joins small segments, and writes a snapshot, from which the store opens at "
        + "once. The store does this by itself as the log grows; run it to have it done now, for example before a backup. Bytes "
        + "change, events do not: numbers, hashes and digest stay the same. Snapshots are in the store's folder \"snapshots\" and may be "
        + "deleted at any time, because the log has everything.",
      "If anything was ever erased, every file is searched first: content that is still somewhere, for example because an erasure was "
        + "interrupted, is taken out.",
    ],
    examples: [.init("heartlog compact", "Make the store as small as it gets.")],
    endings: [
      .init(.badInput, "The store is damaged; no snapshot was written."),
      .init(.cannotCreate, "The store is on a network file system, where it has no snapshots."),
      .init(.tryAgain, "Another process is writing to the store: try again."),
    ])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let report = try context.withByteProgress("compacting") { try store.compact(progress: $0) }
    let snapshot = try store.snapshot()
    let canHaveSnapshot = try snapshot != nil || store.contentGeneration() != nil
    let findings = store.findings
    try store.close()
    let (erased, sealed) = (ErasurePage(report: report.erased), SealPage(report: report.sealed))
    if context.isJSON {
      try context.jsonLine { json in
        erased.write(to: &json)
        sealed.write(to: &json)
        json.name("snapshot")
        guard let snapshot else { return json.null() }
        json.beginObject()
        json.member("events", snapshot.events)
        json.member("bytes", snapshot.bytes)
        json.endObject()
      }
    } else {
      for line in erased.lines + [sealed.line] { try context.output.line(line) }
      if let snapshot {
        try context.output.line(
          "snapshot of \(Quantity.count(snapshot.events, "event")): \(Quantity.size(bytes: snapshot.bytes))")
      }
    }
    let code = try context.report(findings, includesTorn: true)
    guard snapshot == nil, code == .success else { return code }
    guard canHaveSnapshot else {
      throw CommandError(
        .tryAgain, "content is being erased from the store, or is arriving", hint: "Try again.")
    }
    throw CommandError(.cannotCreate, "cannot write a snapshot of this store")
  }
}
