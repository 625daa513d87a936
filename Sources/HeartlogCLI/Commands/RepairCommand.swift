import Heartlog

/// `heartlog repair`: rebuilds damaged files other than the log's segments.
struct RepairCommand: Command {
  private static let isDryRun = Option.flag("dry-run", "Change nothing; report what would be done.")
  private static let name = Option.value(
    "name", "NAME", .text,
    "The name of this device, in case it is lost. Default: the name in the streams.")

  static let description = CommandDescription(
    name: "repair", group: .check, summary: "rebuild damaged files other than the log's segments",
    options: [isDryRun, name],
    paragraphs: [
      "Rebuilds the file \"store\", which identifies the writer, and the ends of forked streams from the contents of the streams. "
        + "If nothing proves that the folder is not a copy, the device continues under a new identity, which loses nothing. The "
        + "remains of the damaged files are kept beside the new ones.",
      "Segments are not repaired; damaged ones are reported. A sound store is not changed.",
    ],
    examples: [
      .init("heartlog repair --dry-run", "Report what is damaged and what would be done."),
      .init("heartlog repair", "Repair the store."),
    ],
    endings: [
      .init(.badInput, "Some damage was not repaired; the output names it."),
      .init(.tryAgain, "Another process is writing to the store: try again."),
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
    json.member("files", objects: report.entries) { entry, json in
      json.member("file", entry.file)
      json.member("damage", entry.damage)
      json.member("isMended", entry.isMended)
      json.member("outcome", entry.outcome)
      if let kept = entry.keptAt { json.member("keptAt", kept) }
    }
  }

  private static func lines(_ report: RepairReport, _ style: Style) -> [String] {
    if report.entries.isEmpty { return ["nothing to repair"] }
    var lines: [String] = []
    for entry in report.entries {
      let verb = report.isDryRun && entry.isMended ? "would be " : ""
      let outcome = style(entry.isMended ? .good : .failure, verb + entry.outcome)
      lines += [DisplayText.visible("\(entry.file): \(entry.damage)"), "  \(outcome)"]
      if let kept = entry.keptAt { lines.append(DisplayText.visible("  damaged file kept as: \(kept)")) }
    }
    if report.entries.contains(where: { $0.isMended && $0.file.hasSuffix("/store") }) {
      lines.append(writer(report))
    }
    return lines
  }

  /// The line that names the device that writes from now on.
  private static func writer(_ report: RepairReport) -> String {
    func shown(_ replica: ReplicaID) -> String { String(replica.description.prefix(EventLine.prefixDigits)) }
    var words = [report.isDryRun ? "this device would be" : "this device is"]
    words.append(report.name.isEmpty ? "without a name" : report.name)
    words.append(report.replica.map { "(\(shown($0)))" } ?? "(a new identity)")
    let former = report.formerReplica.map { "; it was \(shown($0))" } ?? ""
    return DisplayText.visible(words.joined(separator: " ") + former)
  }
}
