import Heartlog
import HeartlogInterchange
import HeartlogLibraries

/// `heartlog export`: the favorites of a library as a file.
struct ExportCommand: Command {
  private static let file = Argument(
    "FILE", .optional, .file,
    "Where to write, replacing what is there. Without it or with -, standard output.")

  static let description = CommandDescription(
    name: "export", group: .read, summary: "write the favorites of a library as a file",
    arguments: [.library, file], options: [.format],
    paragraphs: [
      "Favorites come newest first. The format goes by the name of the file, and is jsonl where that tells nothing; jsonl holds "
        + "what is no favorite and still known, too.",
      "\"heartlog help import\" tells about the formats.",
    ],
    examples: [
      .init("heartlog export papers favorites.jsonl", "All papers, with all that is known of them."),
      .init("heartlog export papers --format jsonl", "The same, to standard output."),
    ],
    endings: [
      .init(.badInput, "A part of the store is damaged; what is sound is exported."),
      .init(.cannotCreate, "The file cannot be written."),
    ])

  let library: String
  /// nil for standard output.
  let path: String?
  let format: any FileFormat

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    let path = arguments.optionalText(Self.file)
    self.path = path == "-" ? nil : path
    format =
      try arguments.format(for: library) ?? self.path.flatMap { [library] in
        FileFormats.standard.forWriting(name: $0, of: library)
      }
      ?? JSONLinesFormat()
    guard format.isWritten else {
      throw .usage(
        "\(format.name) is only read",
        hint: "For writing there are \(FileFormats.standard.names(for: library, writtenOnly: true)).")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let bytes: [UInt8]
    do {
      bytes = try store.library(library).exportFile(format: format)
    } catch let error as LibraryError {
      throw CommandError(
        .badInput, "this library cannot be written as \(format.name)", at: error.description,
        hint: "jsonl holds everything.")
    }
    if let path {
      try OutputFile.write(bytes, to: path)
    } else {
      try context.output.write(String(decoding: bytes, as: UTF8.self))
    }
    try context.tellUnknown(library, in: store)
    return try context.report(store.findings)
  }
}
