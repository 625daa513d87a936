import Heartlog

/// `heartlog report`: writes what the store shows and proves as one HTML page.
struct ReportCommand: Command {
  private static let file = Option.value(
    "output", short: "o", "FILE", .file,
    "The file to write; an existing file is replaced. Default: standard output (-).")

  static let description = CommandDescription(
    name: "report", group: .check, summary: "write an evidence report as an HTML page",
    options: [.at, file],
    paragraphs: [
      "One page, to read or to print, for somebody without Heartlog: the store, the devices with their keys, checkpoints and witnesses, the "
        + "activity by library, the favorites, the open conflicts and how they were decided, and what verifying the store proves and what "
        + "it does not. The page contains no script and loads nothing.",
      "With --at, favorites, conflicts, activity and counts are those of that moment; keys and verification are always those of now. Times "
        + "are in UTC.",
    ],
    examples: [
      .init("heartlog report -o report.html", "Write the report of now."),
      .init("heartlog report --at 2026-03-02 -o then.html", "Write what it was at the end of that day."),
    ],
    endings: [
      .init(.badInput, "Something is damaged; the report says what, and covers the sound part."),
      .init(.cannotCreate, "The file cannot be written."),
    ])

  let moment: Moment?
  /// nil for standard output.
  let path: String?

  init(_ arguments: Arguments) throws(CommandError) {
    moment = try arguments.moment(.at)
    let path = arguments.text(Self.file)
    self.path = path == "-" ? nil : path
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let view = try context.openForReading(at: moment)
    let found = try context.verified()
    let bytes = try EvidenceReport(of: view, verified: found, context).page()
    if let path {
      try OutputFile.write(bytes, to: path)
    } else {
      try context.output.write(String(decoding: bytes, as: UTF8.self))
    }
    return try context.report(found, and: view.findings)
  }
}
