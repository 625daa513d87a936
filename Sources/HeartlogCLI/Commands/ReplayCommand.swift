import Heartlog

/// `heartlog replay`: rebuilds the state from the log alone.
struct ReplayCommand: Command {
  static let description = CommandDescription(
    name: "replay", group: .check, summary: "rebuild the state from the log alone",
    options: [.at],
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

  init(_ arguments: Arguments) throws(CommandError) { moment = try arguments.moment(.at) }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let view = try moment.map { try context.view(of: store, at: $0) } ?? context.replayed(store)
    let status = try view.status()
    let differs = moment == nil && status.digest != store.digest
    try context.show(status, of: view)
    let damage = try context.report(view.findings)
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
