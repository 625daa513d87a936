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

  /// How often the log is replayed while its content changes.
  private static let attemptsMax = 20

  let moment: Moment?

  init(_ arguments: Arguments) throws(CommandError) { moment = try arguments.moment(.at) }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    var generation = try store.contentGeneration()
    var view = try moment.map { try context.view(of: store, at: $0) } ?? context.replayed(store)
    var isChanging = false
    func differs() -> Bool { moment == nil && view.read(\.digest) != store.digest }
    for _ in 0..<Self.attemptsMax where differs() {
      // Another process may be erasing content, or taking content that was missing.
      let now = try store.contentGeneration()
      isChanging = now == nil || now != generation
      guard isChanging else { break }
      Terminal.pause(milliseconds: 100)
      generation = now
      try store.refresh()
      view = try context.replayed(store)
    }
    let status = try view.status()
    let differs = differs()
    if differs, isChanging {
      throw CommandError(
        .tryAgain, "content is being erased from the store, or is arriving", hint: "Try again.")
    }
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
