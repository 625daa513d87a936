import Heartlog
import HeartlogInterchange
import HeartlogLibraries

/// `heartlog export`: writes the favorites of a library to a file.
struct ExportCommand: Command {
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
    paragraphs: [
      "Writes the newest favorite first. The name of the file determines the format; if it does not, the format is jsonl, which "
        + "also contains known items that are not favorites.",
      "\"heartlog help import\" describes the formats.",
    ],
    examples: [
      .init("heartlog export papers favorites.jsonl", "Write all papers with all their fields."),
      .init("heartlog export papers --format jsonl", "Write the same to standard output."),
      .init("heartlog export papers then.jsonl --at 2026-03-02", "Write what it was at the end of that day."),
    ],
    endings: [
      .init(.badInput, "Part of the store is damaged; the sound part was exported."),
      .init(.cannotCreate, "The file cannot be written."),
    ])

  let library: String
  /// nil for standard output.
  let path: String?
  let format: any FileFormat
  let moment: Moment?

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    let path = arguments.optionalText(Self.file)
    self.path = path == "-" ? nil : path
    moment = try arguments.moment(.at)
    let format: any FileFormat =
      try arguments.format(for: library) ?? self.path.flatMap { [library] in
        FileFormats.standard.forWriting(name: $0, of: library)
      }
      ?? JSONLinesFormat()
    guard arguments.has(Self.spreadsheet) else {
      self.format = format
      try Self.checkWritten(format, for: library)
      return
    }
    guard format is CSVFormat else {
      throw .usage("--spreadsheet is for tables", hint: "Choose the format with --format csv.")
    }
    self.format = CSVFormat(isForSpreadsheets: true)
  }

  private static func checkWritten(_ format: any FileFormat, for library: String) throws(CommandError) {
    guard format.isWritten else {
      throw .usage(
        "\(format.name) can only be imported",
        hint: "Formats for export: \(FileFormats.standard.names(for: library, writtenOnly: true)).")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let view = try context.openForReading(at: moment)
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
    if let path {
      try OutputFile.write(bytes, to: path)
    } else {
      try context.output.write(String(decoding: bytes, as: UTF8.self))
    }
    if let sentence = context.sentence(of: view.moment) {
      // Standard output may be the file.
      try context.output.flush()
      context.warn("\(sentence)")
    }
    try context.tellUnknown(library, in: view)
    return try context.report(view.findings)
  }
}
