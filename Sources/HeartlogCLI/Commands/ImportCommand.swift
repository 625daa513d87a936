import Heartlog
import HeartlogInterchange
import HeartlogLibraries

/// `heartlog import`: takes over the items of a file.
struct ImportCommand: Command {
  private static let file = Argument(
    "FILE", form: "FILE|-", .required, .file, "The file to import; with -, standard input.")
  private static let metadata = Option.flag(
    "metadata", "Take over what the file tells of its items, and make none of them a favorite.")
  private static let dryRun = Option.flag("dry-run", "Write nothing; tell what would be written.")

  static let description = CommandDescription(
    name: "import", group: .write, summary: "take over the items of a file",
    arguments: [.library, file], options: [.format, metadata, dryRun],
    paragraphs: [
      "Items become favorites since the date that the file tells, else since now. What is a favorite already keeps its date, and "
        + "what is new about it is written. Importing a file again writes nothing.",
      "The format is found out by the file's content and name. "
        + FileFormats.standard.all.map { "\($0.name): \($0.summary)." }.joined(separator: " "),
      "A record that cannot be taken is told with its line, and the others are taken all the same; then the exit code is 65.",
    ],
    examples: [
      .init("heartlog import papers library.bib", "A bibliography, each entry with its date."),
      .init("heartlog import papers library.bib --dry-run", "What that would do."),
      .init(
        "heartlog export books --format jsonl | heartlog --store copy import books -",
        "From one store into another."),
    ],
    endings: [
      .init(.badInput, "Something in the file was refused, or all of it."),
      .init(.noStore, "There is no such store or file."),
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
        .badInput, "the format of \(shownPath) cannot be told from its name and content",
        hint: "Name it with --format: \(FileFormats.standard.names(for: library)).")
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
        hint: "Another format is named with --format: \(FileFormats.standard.names(for: library)).")
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
      "\(library) from \(report.format): \(what)\(options.isDryRun ? "; a dry run, nothing was written" : "")"
    )
    try context.output.flush()
    for refusal in report.refusals {
      context.output.errorLine(
        DisplayText.visible("\(path ?? "-"):\(refusal.line): \(refusal.reason)"))
    }
  }
}
