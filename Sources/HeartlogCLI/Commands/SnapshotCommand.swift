import Heartlog

/// `heartlog snapshot`: the state, as a file from which the store opens at once.
struct SnapshotCommand: Command {
  static let description = CommandDescription(
    name: "snapshot", group: .check, summary: "write a snapshot, from which the store opens at once",
    paragraphs: [
      "The store does this by itself as the log grows, and when it is closed. Snapshots lie in the folder snapshots of the "
        + "store; all of them may be removed at any time, for the log has everything."
    ],
    examples: [.init("heartlog snapshot", "Make the next start instant.")],
    endings: [
      .init(.badInput, "The store is damaged, and none is made of it."),
      .init(.cannotCreate, "The store is on a network: it has no snapshots."),
    ])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let report = try store.snapshot()
    guard let report else {
      let code = try context.report(store.findings)
      guard code == .success else { return code }
      throw CommandError(.cannotCreate, "no snapshot can be written here")
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
        report.isNew ? "snapshot written: \(size)" : "the last snapshot has everything: \(size)")
    }
    return try context.report(store.findings, includesTorn: true)
  }
}
