import Heartlog

/// `heartlog replay`: rebuilds the state from the log alone.
struct ReplayCommand: Command {
  private static let moment = Option.value(
    "at", "WHEN", .moment,
    "Show the state at that moment. A date means its end, an event means itself and all events before it.")

  static let description = CommandDescription(
    name: "replay", group: .check, summary: "rebuild the state from the log alone",
    options: [moment],
    paragraphs: [
      "Replays the log from its first event and compares the resulting state with what the store shows. With --at, shows "
        + "the state at that moment and compares nothing."
    ],
    examples: [
      .init("heartlog replay", "Check that the log produces what the store shows."),
      .init("heartlog replay --at 2026-03-02", "Show the state at the end of that day."),
    ],
    endings: [
      .init(.no, "The state from the log differs from what the store shows."),
      .init(.badInput, "Part of the log is damaged."),
    ])

  let moment: Moment?

  init(_ arguments: Arguments) throws(CommandError) { moment = try arguments.moment(Self.moment) }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let replayed = try context.withByteProgress("replaying") { progress in
      try store.replay(upTo: try moment.map { try $0.resolved(in: store) }, progress: progress)
    }
    let status = try store.status(of: replayed.state)
    let differs = moment == nil && status.digest != store.digest
    if context.isJSON {
      try context.jsonLine { json in
        StatusPage.write(status, to: &json)
        json.partial(replayed.findings)
      }
    } else {
      if let moment { try context.output.line("as of \(moment.shown(context.times))") }
      for line in StatusPage.lines(status, style: context.style, width: context.width) {
        try context.output.line(line)
      }
    }
    let damage = try context.report(replayed.findings)
    guard damage == .success else { return damage }
    if !context.isJSON, moment == nil, !differs {
      try context.output.line(
        "\n\(context.style(.good, "the same")): the log alone produces the state that the store shows")
    }
    if differs {
      throw CommandError(
        .no, "the state from the log differs from what the store shows",
        hint: "The log is authoritative. Report this as a bug.")
    }
    return .success
  }
}
