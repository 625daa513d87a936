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
  private static let encoding = Option.value(
    "encoding", "NAME", .text,
    "The file's encoding, such as UTF-8, windows-1252 or koi8-r; \"iconv -l\" lists the names.")
  private static let idColumn = Option.value(
    "id-column", "NAME", .text, "The column of a table, or the member of a JSON object, that is the id.")

  static let description = CommandDescription(
    name: "import", group: .write, summary: "import the items of a file",
    arguments: [.library, file], options: [.format, metadata, dryRun, encoding, idColumn],
    paragraphs: [
      "An item becomes a favorite as of the date in the file, or as of now. An item that is already a favorite keeps its date; "
        + "those of its fields that differ are written. Importing the same file again writes nothing.",
      "The format is recognized by the content and the name of the file. "
        + FileFormats.standard.all.map { "\($0.name): \($0.summary)." }.joined(separator: " "),
      "A file is read in the encoding that --encoding names, else in that of its byte order mark, else in the one that it "
        + "declares, else as UTF-8; a line that is not UTF-8 is then read as Windows-1252, which is reported.",
      "Of several records of one item, the last one is imported.",
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
  let formatName: String?
  let encoding: String?
  let idColumn: String?
  let options: FavoritesLibrary.ImportOptions

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    let path = arguments.text(Self.file)
    self.path = path == "-" ? nil : path
    formatName = try arguments.format(for: library)?.name
    encoding = arguments.text(Self.encoding)
    idColumn = arguments.text(Self.idColumn)
    var options = FavoritesLibrary.ImportOptions()
    options.isMetadataOnly = arguments.has(Self.metadata)
    options.isDryRun = arguments.has(Self.dryRun)
    self.options = options
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let text = try readText()
    var reading = FileFormats.ReadingOptions()
    reading.idColumn = idColumn
    reading.utc = { [zone = context.clock.zone] in zone.first(LocalTime(milliseconds: $0)) }
    let formats = FileFormats(libraries: .standard, options: reading)
    let named = formatName.flatMap(formats.named)
    guard let format = named ?? formats.guess(text.bytes, name: path, for: library) else {
      let possible = formats.possible(text.bytes, name: path, for: library).map(\.name)
      throw CommandError(
        .badInput, "cannot recognize the format of \(shownPath) by its content or name",
        hint: possible.isEmpty
          ? "Choose one with --format: \(FileFormats.standard.names(for: library))."
          : "It might be one of \(possible.joined(separator: ", ")). Choose one with --format.")
    }
    let store = try options.isDryRun ? context.openForReading() : context.openForWriting(endsSoon: true)
    let bar = context.progress("importing")
    defer { bar.finish() }
    let report: ImportReport
    var (events, commits) = (0, 0)
    do {
      report = try store.library(library).importFile(
        text, format: format, options: options,
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

  private func readText() throws -> FileText {
    let bytes = try LineReader(path).rest()
    do throws(LibraryError) {
      return try FileText(bytes, encoding: encoding)
    } catch {
      throw CommandError(
        .badInput, "cannot read \(shownPath)", at: error.description,
        hint: encoding == nil ? "Name its encoding with --encoding." : nil)
    }
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
          if let record = refusal.record { json.member("record", record) }
          if let id = refusal.id { json.member("id", id) }
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
        json.member("leftOut", report.leftOut)
        json.member("repeated", report.repeated)
        json.member("refused", report.refusals.count)
        json.member("events", report.events)
        json.member("commits", report.commits)
      }
      return
    }
    let counts = [
      (report.added, "added"), (report.updated, "updated"), (report.unchanged, "unchanged"),
      (report.leftOut, "neither favorites nor with values"), (report.repeated, "repeated in the file"),
      (report.refusals.count, "refused"),
    ].filter { $0.0 > 0 }.map { "\(Quantity.count($0.0)) \($0.1)" }
    let what = counts.isEmpty ? "no items" : counts.joined(separator: ", ")
    try context.output.line(
      "\(library) from \(report.format): \(what)\(options.isDryRun ? "; dry run, nothing was written" : "")"
    )
    try context.output.flush()
    for line in Self.lines(report.remarks + report.refusals, place: { place(of: $0, in: report) }) {
      context.output.errorLine(DisplayText.visible("\(path ?? "-"):\(line)"))
    }
  }

  /// Lines of one kind that are printed; the others are counted.
  static let equalLinesMax = 20

  /// The lines for refusals, of which those that differ only in numbers and quoted texts are cut short.
  static func lines(
    _ refusals: [FileContents.Refusal], place: (FileContents.Refusal) -> String
  ) -> [String] {
    func kind(_ reason: String) -> String {
      reason.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
        .filter { $0.offset % 2 == 0 }.map { $0.element.filter { !$0.isNumber } }.joined(separator: "\"…\"")
    }
    var lines: [String] = []
    var counts: [(kind: String, count: Int)] = []
    var indices: [String: Int] = [:]
    for refusal in refusals {
      let kind = kind(refusal.reason)
      let index = indices[kind] ?? counts.count
      if index == counts.count {
        indices[kind] = index
        counts.append((kind, 0))
      }
      counts[index].count += 1
      if counts[index].count <= equalLinesMax { lines.append("\(place(refusal)): \(refusal.reason)") }
    }
    for (kind, count) in counts where count > equalLinesMax {
      lines.append(" … and \(Quantity.count(count - equalLinesMax, "more line")) like this: \(kind)")
    }
    return lines
  }

  /// Where a refused record is: its line, or its number and id in a file of one line.
  private func place(of refusal: FileContents.Refusal, in report: ImportReport) -> String {
    guard report.isOneLine, let record = refusal.record else { return String(refusal.line) }
    return " record \(record)" + (refusal.id.map { " (\($0))" } ?? "")
  }
}
