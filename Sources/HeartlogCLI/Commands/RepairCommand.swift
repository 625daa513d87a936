import Heartlog

/// `heartlog repair`: what is damaged beside the log's segments, made anew.
struct RepairCommand: Command {
  private static let isDryRun = Option.flag("dry-run", "Say what would be done, and change nothing.")
  private static let name = Option.value(
    "name", "NAME", .text,
    "What people call this device, should it have to be said anew. Without it, what the streams say.")

  static let description = CommandDescription(
    name: "repair", group: .check, summary: "make anew what is damaged beside the log's segments",
    options: [isDryRun, name],
    paragraphs: [
      "Mends the file that says who writes to the store, and the ends of forked streams, from what the streams tell. Where "
        + "nothing proves that the folder is not a copy, the store goes on as a new device, which loses nothing. What is left of "
        + "the damaged files is kept beside the new ones.",
      "Segments are left alone; those that are damaged are named. A sound store is left as it is.",
    ],
    examples: [
      .init("heartlog repair --dry-run", "What is damaged, and what would be done about it?"),
      .init("heartlog repair", "Mend it."),
    ],
    endings: [
      .init(.badInput, "Something was left alone that is damaged: it is named."),
      .init(.tryAgain, "Another process is writing: try again."),
    ])

  let isDryRun: Bool
  let name: String?

  init(_ arguments: Arguments) throws(CommandError) {
    isDryRun = arguments.has(Self.isDryRun)
    name = arguments.text(Self.name)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let directory = try context.storeDirectory()
    let report = try context.withByteProgress("verifying") { progress in
      try FavoritesStore.repair(at: directory, name: name, isDryRun: isDryRun, progress: progress)
    }
    if context.isJSON {
      try context.jsonLine { Self.write(report, to: &$0) }
    } else {
      for line in Self.lines(report, context.style) { try context.output.line(line) }
    }
    return report.isSound ? .success : .badInput
  }

  private static func write(_ report: RepairReport, to json: inout JSONWriter) {
    json.member("dryRun", report.isDryRun)
    if let replica = report.replica { json.member("replica", replica.description) }
    json.member("name", report.name)
    if let former = report.formerReplica { json.member("formerReplica", former.description) }
    json.name("files")
    json.beginArray()
    for entry in report.entries {
      json.beginObject()
      json.member("file", entry.file)
      json.member("damage", entry.damage)
      json.member("isMended", entry.isMended)
      json.member("outcome", entry.outcome)
      if let kept = entry.keptAt { json.member("keptAt", kept) }
      json.endObject()
    }
    json.endArray()
  }

  private static func lines(_ report: RepairReport, _ style: Style) -> [String] {
    if report.entries.isEmpty { return ["nothing to repair"] }
    var lines: [String] = []
    for entry in report.entries {
      let verb = report.isDryRun && entry.isMended ? "would be " : ""
      let outcome = style(entry.isMended ? .good : .failure, verb + entry.outcome)
      lines += [DisplayText.visible("\(entry.file): \(entry.damage)"), "  \(outcome)"]
      if let kept = entry.keptAt { lines.append(DisplayText.visible("  what is left of it: \(kept)")) }
    }
    if report.entries.contains(where: { $0.isMended && $0.file.hasSuffix("/store") }) {
      lines.append(writer(report))
    }
    return lines
  }

  /// Who writes from now on.
  private static func writer(_ report: RepairReport) -> String {
    func shown(_ replica: ReplicaID) -> String { String(replica.description.prefix(EventLine.prefixDigits)) }
    var words = [report.isDryRun ? "this device would be" : "this device is"]
    words.append(report.name.isEmpty ? "without a name" : report.name)
    words.append(report.replica.map { "(\(shown($0)))" } ?? "(a new identity)")
    let former = report.formerReplica.map { "; it was \(shown($0))" } ?? ""
    return DisplayText.visible(words.joined(separator: " ") + former)
  }
}
