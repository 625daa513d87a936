import Heartlog

/// `heartlog snapshot`: writes the state to a file from which the store opens at once.
struct SnapshotCommand: Command {
  static let description = CommandDescription(
    name: "snapshot", group: .check, summary: "write a snapshot, so that the store opens faster",
    paragraphs: [
      "The store does this by itself as the log grows and when it is closed. Snapshots are in the store's folder \"snapshots\". "
        + "All of them may be removed at any time, because the log has everything."
    ],
    examples: [.init("heartlog snapshot", "Make the store open faster.")],
    endings: [
      .init(.badInput, "The store is damaged; no snapshot was written."),
      .init(.cannotCreate, "The store is on a network file system, where it has no snapshots."),
    ])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let report = try store.snapshot()
    guard let report else {
      let code = try context.report(store.findings)
      guard code == .success else { return code }
      guard try store.contentGeneration() != nil else {
        throw CommandError(
          .tryAgain, "content is being erased from the store, or is arriving", hint: "Try again.")
      }
      throw CommandError(.cannotCreate, "cannot write a snapshot of this store")
    }
    try store.close()
    if context.isJSON {
      try context.jsonLine { json in
        json.member("events", report.events)
        json.member("bytes", report.bytes)
        json.member("new", report.isNew)
      }
    } else {
      let size = "\(Quantity.count(report.events, "event")), \(Quantity.size(bytes: report.bytes))"
      try context.output.line(
        report.isNew ? "snapshot written: \(size)" : "the last snapshot is up to date: \(size)")
    }
    return try context.report(store.findings, includesTorn: true)
  }
}
