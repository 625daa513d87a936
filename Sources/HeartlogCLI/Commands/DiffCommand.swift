import Heartlog

/// `heartlog diff`: shows what changed between two moments.
struct DiffCommand: Command {
  private static let first = Argument(
    "FROM", .required, .moment, "The earlier moment: a time, a date (its end), an event or a commit.")
  private static let second = Argument("TO", .optional, .moment, "The later moment. Default: now.")
  private static let library = Option.value("library", "LIBRARY", .library, "Compare only this library.")

  static let description = CommandDescription(
    name: "diff", group: .read, summary: "show what changed between two moments",
    arguments: [first, second], options: [library],
    paragraphs: [
      "Compares what the store contained at two moments, by library and item: what became a favorite, what no longer is one, and which "
        + "fields have other values. What changed and changed back is no difference. The moments may be in any order."
    ],
    examples: [
      .init("heartlog diff yesterday", "Show what changed since the end of yesterday."),
      .init("heartlog diff 2026-03-02 2026-03-09 --library papers", "Show what a week changed in papers."),
      .init("heartlog diff 3f9a12c0:c41 3f9a12c0:c42", "Show what commit 42 of 3f9a12c0 changed."),
    ],
    endings: [
      .init(.no, "The log does not have the event or the commit."),
      .init(.badInput, "Part of the store is damaged; the sound part was compared."),
    ])

  let from: Moment
  /// nil for now.
  let to: Moment?
  let library: String?

  init(_ arguments: Arguments) throws(CommandError) {
    from = try arguments.moment(Self.first)
    to = try arguments.optionalMoment(Self.second)
    library = arguments.text(Self.library)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let before = try context.view(of: store, at: from)
    let after = try context.view(of: store, at: to)
    let differences = after.read { later in before.read { later.difference(from: $0, in: library) } }
    let findings = after.findings.union(before.findings)
    let page = DifferencePage(differences: differences, from: before.moment, to: after.moment)
    if context.isJSON {
      try page.write(context)
      try context.jsonPartial(findings)
    } else {
      for line in page.lines(context) { try context.output.line(line) }
    }
    if let library { try context.tellUnknown(library, in: StoreView(now: store)) }
    return try context.report(findings)
  }
}
