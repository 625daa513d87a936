import Heartlog
import HeartlogInterchange
import HeartlogLibraries

/// `heartlog import`: imports the items of a file.
enum ImportCommand: Command {
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
    page: #"""
      An item becomes a favorite as of the date in the file, or as of now. An item that is already a favorite keeps its date; those of its
      fields that differ are written. Importing the same file again writes nothing.

      The format is recognized by the content and the name of the file.
      \#(FileFormats.standard.all.map { "\($0.name): \($0.summary)." }.joined(separator: " "))

      A file is read in the encoding that --encoding names, else in that of its byte order mark, else in the one that it declares, else as
      UTF-8; a line that is not UTF-8 is then read as Windows-1252, which is reported.

      Of several records of one item, the last one is imported.

      A record that cannot be imported is reported with its line. The others are imported, and the exit code is 65.

      heartlog import papers library.bib  # Import a bibliography, each entry with its date.
      heartlog import papers library.bib --dry-run  # Report what that would do.
      heartlog export books --format jsonl | heartlog --store copy import books -  # Copy the books of one store into another.

      Exit code 65: The file, or some of its records, was refused.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let library = arguments.text(.library)
    let formatName = try arguments.format(for: library)?.name
    let isDryRun = arguments.has(Self.dryRun)
    var options = FavoritesLibrary.ImportOptions()
    options.isMetadataOnly = arguments.has(Self.metadata)
    options.isDryRun = isDryRun
    /// nil for standard input.
    let path = arguments.path(Self.file)
    let shownPath = path.map { "\(Quoted($0))" } ?? "the input"
    let text = try readText(path, shownPath, encoding: arguments.text(Self.encoding))
    var reading = FileFormats.ReadingOptions()
    reading.idColumn = arguments.text(Self.idColumn)
    reading.utc = { [zone = context.clock.zone] in zone.first(LocalTime(milliseconds: $0)) }
    let formats = FileFormats(libraries: .standard, options: reading)
    let isBlank = text.bytes.allSatisfy(\.isASCIIWhiteSpace)
    let named = formatName.flatMap(formats.named)
    guard let format = named ?? formats.guess(text.bytes, name: path, for: library) else {
      let possible = formats.possible(text.bytes, name: path, for: library).map(\.name)
      throw CommandError(
        .badInput,
        isBlank
          ? "\(shownPath) is empty" : "cannot recognize the format of \(shownPath) by its content or name",
        hint: possible.isEmpty
          ? "Choose one with --format: \(FileFormats.standard.names(for: library))."
          : "It might be one of \(possible.joined(separator: ", ")). Choose one with --format.")
    }
    let store = try isDryRun ? context.openForReading() : context.openForWriting(endsSoon: true)
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
          context.unreported.set(
            "\(Quantity.count(events, "event")) of \(library) in \(Quantity.count(commits, "commit")) up to "
              + EventLine.shortID(commit.eventID(at: commit.records.count - 1)))
        })
    } catch let error as LibraryError {
      throw CommandError(
        .badInput, "\(shownPath) cannot be imported as \(format.name)",
        at: isBlank ? "it is empty" : error.description,
        hint: "Choose another format with --format: \(FileFormats.standard.names(for: library)).")
    }
    bar.finish()
    try show(report, of: library, path, isDryRun: isDryRun, context)
    let code = try context.close(store)
    return report.refusals.isEmpty ? code : .badInput
  }

  private static func readText(_ path: String?, _ shownPath: String, encoding: String?) throws -> FileText {
    let bytes = try LineReader(path).rest()
    do throws(LibraryError) {
      return try FileText(bytes, encoding: encoding)
    } catch {
      throw CommandError(
        .badInput, "cannot read \(shownPath)", at: error.description,
        hint: encoding == nil ? "Name its encoding with --encoding." : nil)
    }
  }

  private static func show(
    _ report: ImportReport, of library: String, _ path: String?, isDryRun: Bool, _ context: CommandContext
  ) throws {
    let remarks: [JSONObject] = report.remarks.map { ["line": $0.line, "remark": $0.reason] }
    let refusals: [JSONObject] = report.refusals.map {
      ["line": $0.line, "record?": $0.record, "id?": $0.id, "refused": $0.reason]
    }
    let summary: JSONObject = [
      "library": library, "format": report.format, "dryRun": isDryRun, "items": report.items,
      "added": report.added, "updated": report.updated, "unchanged": report.unchanged,
      "leftOut": report.leftOut, "repeated": report.repeated, "refused": report.refusals.count,
      "events": report.events, "commits": report.commits,
    ]
    let counts = [
      (report.added, "added"), (report.updated, "updated"), (report.unchanged, "unchanged"),
      (report.leftOut, "neither favorites nor with values"), (report.repeated, "repeated in the file"),
      (report.refusals.count, "refused"),
    ].filter { $0.0 > 0 }.map { "\(Quantity.count($0.0)) \($0.1)" }
    let what = counts.isEmpty ? "no items" : counts.joined(separator: ", ")
    let dryRun = isDryRun ? "; dry run, nothing was written" : ""
    _ = try context.show(
      remarks + refusals + [summary], ["\(library) from \(report.format): \(what)\(dryRun)"])
    guard !context.isJSON else { return }
    for line in lines(report.remarks + report.refusals, place: { place(of: $0, in: report) }) {
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
    var kinds: [String] = []
    var counts: [String: Int] = [:]
    for refusal in refusals {
      let kind = kind(refusal.reason)
      let count = counts[kind, default: 0] + 1
      counts[kind] = count
      if count == 1 { kinds.append(kind) }
      if count <= equalLinesMax { lines.append("\(place(refusal)): \(refusal.reason)") }
    }
    for kind in kinds {
      guard let count = counts[kind], count > equalLinesMax else { continue }
      lines.append(" … and \(Quantity.count(count - equalLinesMax, "more line")) like this: \(kind)")
    }
    return lines
  }

  /// Where a refused record is: its line, or its number and id in a file of one line.
  private static func place(of refusal: FileContents.Refusal, in report: ImportReport) -> String {
    guard report.isOneLine, let record = refusal.record else { return String(refusal.line) }
    return " record \(record)" + (refusal.id.map { " (\($0))" } ?? "")
  }
}

/// `heartlog export`: writes the favorites of a library to a file.
enum ExportCommand: Command {
  private static let file = Argument(
    "FILE", .optional, .file,
    "The file to write; an existing file is replaced. Default: standard output (-).")

  private static let spreadsheet = Option.flag(
    "spreadsheet",
    "With csv: write an apostrophe in front of texts that a spreadsheet takes for a formula; import removes it."
  )

  static let description = CommandDescription(
    name: "export", group: .read, summary: "write the favorites of a library to a file",
    arguments: [.library, file], options: [.format, .at, spreadsheet],
    page: #"""
      Writes the newest favorite first. The name of the file determines the format; if it does not, the format is jsonl, which also contains
      known items that are not favorites.

      "heartlog help import" describes the formats.

      heartlog export papers favorites.jsonl  # Write all papers with all their fields.
      heartlog export papers --format jsonl  # Write the same to standard output.
      heartlog export papers then.jsonl --at 2026-03-02  # Write what it was at the end of that day.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let library = arguments.text(.library)
    /// nil for standard output.
    let path = arguments.path(Self.file)
    var format: any FileFormat =
      try arguments.format(for: library)
      ?? path.flatMap { FileFormats.standard.forWriting(name: $0, of: library) } ?? FileFormats.jsonLines
    guard format.isWritten else {
      throw CommandError.usage(
        "\(format.name) can only be imported",
        hint: "Formats for export: \(FileFormats.standard.names(for: library, writtenOnly: true)).")
    }
    if arguments.has(Self.spreadsheet) {
      guard format.name == FileFormats.csv.name else {
        throw CommandError.usage(
          "--spreadsheet is for tables", hint: "Choose the format with --format csv.")
      }
      format = FileFormats.spreadsheetCSV
    }
    let view = try context.openForReading(at: arguments.moment(.at))
    let bytes: [UInt8]
    do throws(LibraryError) {
      bytes = try view.read { state in
        Result { () throws(LibraryError) in try state.exportFile(of: library, format: format) }
      }.get()
    } catch {
      throw CommandError(
        .badInput, "this library cannot be exported as \(format.name)", at: error.description,
        hint: "jsonl can hold everything.")
    }
    try context.write(bytes, to: path)
    if let sentence = context.sentence(of: view.moment) {
      // Standard output may be the file.
      try context.output.flush()
      context.warn("\(sentence)")
    }
    try context.warnIfUnknown(library, in: view)
    return try context.report(view.findings)
  }
}

extension Option {
  static let format = Option.value(
    "format", "F", .choice(FileFormats.standard.all.map(\.name)),
    "The file's format: \(FileFormats.standard.all.map(\.name).joined(separator: ", ")).")
}

extension Arguments {
  /// The format that was named; nil if none was. Throws if it is not a format for the library.
  func format(for library: String) throws(CommandError) -> (any FileFormat)? {
    guard let name = text(Option.format) else { return nil }
    guard let format = FileFormats.standard.formats(for: library).first(where: { $0.name == name }) else {
      throw .usage(
        "\(name) cannot be used for \(library)",
        hint: "Formats for \(library): \(FileFormats.standard.names(for: library)).")
    }
    return format
  }
}

extension FileFormats {
  /// The names of the formats for a library, for messages.
  func names(for library: String, writtenOnly: Bool = false) -> String {
    formats(for: library).filter { $0.isWritten || !writtenOnly }.map(\.name).joined(separator: ", ")
  }
}
