import Heartlog

/// `heartlog apply`: executes operations, one per line.
struct ApplyCommand: Command {
  private static let file = Argument(
    "FILE", form: "FILE|-", .optional, .file,
    "A file of operations, one JSON object per line. Default: standard input (-).")
  private static let acknowledges = Option.flag(
    "ack", "Print {\"ack\":LINE} for each line as soon as it is safe on disk, and not before.")

  static let description = CommandDescription(
    name: "apply", group: .write, summary: "execute operations from a file or a pipe, one per line",
    arguments: [file], options: [acknowledges],
    paragraphs: [
      "An operation is {\"op\":\"add|remove|toggle|set\",\"library\":…,\"id\":…}, optionally with \"fields\", "
        + "\"favoritedDate\", \"time\" (replaces the clock) and \"commit\": neighboring lines with the same commit are "
        + "written together or not at all.",
      "If the exit code is 0, everything is safe on disk. A bad line ends the command with the line's number; the commits "
        + "before it are kept.",
    ],
    examples: [
      .init("heartlog apply fortnight.jsonl", "Execute the operations in a file."),
      .init(
        "echo '{\"op\":\"add\",\"library\":\"cities\",\"id\":\"2950159\"}' | heartlog apply --ack",
        "Execute operations from a pipe, and acknowledge each line."),
    ],
    endings: [
      .init(.badInput, "A line is not a valid operation; the message has its number."),
      .init(.noStore, "The store or the file does not exist."),
    ])

  /// nil for standard input.
  let path: String?
  let acknowledges: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    let path = arguments.optionalText(Self.file)
    self.path = path == "-" ? nil : path
    acknowledges = arguments.has(Self.acknowledges)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let input = try LineReader(path)
    // A pipe may have no end.
    let store = try context.openForWriting(endsSoon: input.byteCount != nil)
    var run = OperationRun(store, acknowledges: acknowledges)
    let bar = context.progress("applying", total: input.byteCount)
    defer { bar.finish() }
    var number = 0
    do {
      while true {
        number += 1
        let line = try input.next { bytes -> OperationLine? in
          bytes.allSatisfy(Self.isSpace) ? .none : try OperationLine(bytes)
        }
        guard let line else { break }
        if let line { try run.take(line, number: number) }
        bar.update(input.bytesRead)
        if acknowledges, !input.hasLineAtHand { try acknowledge(&run, context) }
      }
      try run.endGroup()
    } catch {
      // What was executed before the bad line is kept, and acknowledged.
      try acknowledge(&run, context)
      throw Self.located(error, line: number)
    }
    try acknowledge(&run, context)
    bar.finish()
    if context.isJSON {
      try context.jsonLine { json in
        json.member("applied", run.applied)
        json.member("events", run.events)
        json.member("commits", run.commits)
        json.member("digest", store.digest.description)
      }
    } else if !acknowledges {
      try context.output.line(
        "\(Quantity.count(run.applied, "operation")) applied: \(Quantity.count(run.events, "event")) in "
          + "\(Quantity.count(run.commits, "commit"))")
    }
    try store.close()
    return try context.report(store.findings, includesTorn: true)
  }

  private func acknowledge(_ run: inout OperationRun, _ context: CommandContext) throws {
    let safe = try run.flush()
    if let last = run.lastEvent {
      context.untold.set(
        "the operations up to line \(run.lastLine), \(Quantity.count(run.events, "event")) in "
          + "\(Quantity.count(run.commits, "commit")) up to \(EventLine.shortID(last))")
    }
    guard acknowledges, !safe.isEmpty else { return }
    for line in safe { try context.jsonLine { $0.member("ack", line) } }
    try context.output.flush()
    context.untold.clear()
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }

  /// An error about a line, with the line's number.
  private static func located(_ error: any Error, line: Int) -> any Error {
    let hint = "Neither this line nor its unfinished commit was written; everything before it was."
    switch error {
    case let error as MalformedError:
      return CommandError(.badInput, error.reason, at: "line \(line)", hint: hint)
    case let error as HeartlogError where error.code == .invalid || error.code == .invalidItem:
      return CommandError(.badInput, error.message, at: "line \(line)", hint: hint)
    default: return error
    }
  }
}
