import Heartlog
import HeartlogInterchange
import HeartlogLibraries

/// `heartlog import`: imports the items of a file.
struct ImportCommand: Command {
  private static let file = Argument(
    "FILE", form: "FILE|-", .required, .file, "The file to import, or - for standard input.")
  private static let metadata = Option.flag(
    "metadata", "Import the fields of the items, but make none of them a favorite.")
  private static let dryRun = Option.flag("dry-run", "Write nothing; report what would be written.")

  static let description = CommandDescription(
    name: "import", group: .write, summary: "import the items of a file",
    arguments: [.library, file], options: [.format, metadata, dryRun],
    paragraphs: [
      "An item becomes a favorite as of the date in the file, or as of now. An item that is already a favorite keeps its date; "
        + "those of its fields that differ are written. Importing the same file again writes nothing.",
      "The format is recognized by the content and the name of the file. "
        + FileFormats.standard.all.map { "\($0.name): \($0.summary)." }.joined(separator: " "),
      "A record that cannot be imported is reported with its line. The others are imported, and the exit code is 65.",
    ],
    examples: [
      .init("heartlog import papers library.bib", "Import a bibliography, each entry with its date."),
      .init("heartlog import papers library.bib --dry-run", "Report what that would do."),
      .init(
        "heartlog export books --format jsonl | heartlog --store copy import books -",
        "Copy the books of one store into another."),
    ],
    endings: [
      .init(.badInput, "The file, or some of its records, was refused."),
      .init(.noStore, "The store or the file does not exist."),
    ])

  let library: String
  /// nil for standard input.
  let path: String?
  let format: (any FileFormat)?
  let options: FavoritesLibrary.ImportOptions

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    let path = arguments.text(Self.file)
    self.path = path == "-" ? nil : path
    format = try arguments.format(for: library)
    var options = FavoritesLibrary.ImportOptions()
    options.isMetadataOnly = arguments.has(Self.metadata)
    options.isDryRun = arguments.has(Self.dryRun)
    self.options = options
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let bytes = try LineReader(path).rest()
    guard let format = format ?? FileFormats.standard.guess(bytes, name: path, for: library) else {
      throw CommandError(
        .badInput, "cannot recognize the format of \(shownPath) by its content or name",
        hint: "Choose one with --format: \(FileFormats.standard.names(for: library)).")
    }
    let store = try options.isDryRun ? context.openForReading() : context.openForWriting(endsSoon: true)
    let bar = context.progress("importing")
    defer { bar.finish() }
    let report: ImportReport
    var (events, commits) = (0, 0)
    do {
      report = try store.library(library).importFile(
        bytes, format: format, options: options,
        progress: { done, _ in bar.update(done) },
        onCommit: { commit in
          events += commit.records.count
          commits += 1
          context.untold.set(
            "\(Quantity.count(events, "event")) of \(library) in \(Quantity.count(commits, "commit")) up to "
              + EventLine.shortID(commit.eventID(at: commit.records.count - 1)))
        })
    } catch let error as LibraryError {
      throw CommandError(
        .badInput, "\(shownPath) cannot be imported as \(format.name)", at: error.description,
        hint: "Choose another format with --format: \(FileFormats.standard.names(for: library)).")
    }
    bar.finish()
    try tell(report, context)
    let recoveries = store.findings
    try store.close()
    let code = try context.report(recoveries, includesTorn: true)
    return report.refusals.isEmpty ? code : .badInput
  }

  private var shownPath: String { path.map { "\(Quoted($0))" } ?? "the input" }

  private func tell(_ report: ImportReport, _ context: CommandContext) throws {
    if context.isJSON {
      for remark in report.remarks {
        try context.jsonLine { json in
          json.member("line", remark.line)
          json.member("remark", remark.reason)
        }
      }
      for refusal in report.refusals {
        try context.jsonLine { json in
          json.member("line", refusal.line)
          json.member("refused", refusal.reason)
        }
      }
      try context.jsonLine { json in
        json.member("library", library)
        json.member("format", report.format)
        json.member("dryRun", options.isDryRun)
        json.member("items", report.items)
        json.member("added", report.added)
        json.member("updated", report.updated)
        json.member("unchanged", report.unchanged)
        json.member("refused", report.refusals.count)
        json.member("events", report.events)
        json.member("commits", report.commits)
      }
      return
    }
    let counts = [
      (report.added, "added"), (report.updated, "updated"), (report.unchanged, "unchanged"),
      (report.refusals.count, "refused"),
    ].filter { $0.0 > 0 }.map { "\(Quantity.count($0.0)) \($0.1)" }
    let what = counts.isEmpty ? "no items" : counts.joined(separator: ", ")
    try context.output.line(
      "\(library) from \(report.format): \(what)\(options.isDryRun ? "; dry run, nothing was written" : "")"
    )
    try context.output.flush()
    for refusal in report.remarks + report.refusals {
      context.output.errorLine(
        DisplayText.visible("\(path ?? "-"):\(refusal.line): \(refusal.reason)"))
    }
  }
}
