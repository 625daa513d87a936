import Heartlog

/// `heartlog undo`: takes back events.
struct UndoCommand: Command {
  private static let events = Argument(
    "EVENT", .variadic, .event, "An event to take back, of any device, as \"heartlog log\" shows it.")
  private static let last = Option.optionalValue(
    "last", "N", .count, ifAbsent: "1",
    "Take back the last N commits of this device; without N, the last one.")
  private static let since = Option.value(
    "since", "WHEN", .moment, "Take back everything from then on; a date means its start.")
  private static let library = Option.value(
    "library", "LIBRARY", .library, "With --since: only events of this library.")
  private static let replica = Option.value(
    "replica", "R", .replica,
    "With --since: only events of this device, its name or the first digits of its id."
  )
  static let dryRun = Option.flag(
    "dry-run", "Write nothing; show what would be written and what would be kept.")

  static let description = CommandDescription(
    name: "undo", group: .write, summary: "take back events: restore what was there before them",
    arguments: [events], options: [last, since, library, replica, dryRun],
    paragraphs: [
      "Writes new events that restore what the log would show without the undone ones: favorites, their dates, fields, notes and "
        + "collections. What a later event wrote is kept and listed.",
      "An undo can be undone: \"heartlog undo --last\" after it.",
    ],
    examples: [
      .init("heartlog undo 3f9a12c0:42", "Take back one event."),
      .init("heartlog undo --last", "Take back the last commit of this device."),
      .init("heartlog undo --last 3 --dry-run", "Show what it would mean to take back three."),
      .init(
        "heartlog undo --since \"2 hours ago\" --library papers", "Take back what was done to the papers."),
      .init("heartlog undo --since yesterday --replica \"Anna's tablet\"", "Take back what one device did."),
    ],
    endings: [
      .init(
        .no,
        "There is nothing to undo: no such event, or later events wrote the same values or others; nothing was written."
      )
    ])

  private enum Scope {
    case events([Moment])
    case last(Int)
    case since(Moment, library: String?, replica: String?)
  }

  private let scope: Scope
  private let isDryRun: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    let events = arguments.events(Self.events)
    let last = arguments.count(Self.last)
    let since = try arguments.moment(Self.since)
    let library = arguments.text(Self.library)
    let replica = arguments.text(Self.replica)
    isDryRun = arguments.has(Self.dryRun)
    switch (events.isEmpty, last, since) {
    case (false, nil, nil): scope = .events(events)
    case (true, let last?, nil): scope = .last(last)
    case (true, nil, let since?): scope = .since(since, library: library, replica: replica)
    default:
      throw .usage(
        "undo needs one of EVENT, --last and --since",
        hint: "Usage: \(Self.description.usage.joined(separator: " "))")
    }
    if since == nil, library != nil || replica != nil {
      throw .usage("--library and --replica limit --since", hint: "Use them with --since WHEN.")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.undo(isDryRun: isDryRun, nothing: "there is nothing to undo") { store in
      switch scope {
      case .events(let events): return .scope(.events(try events.compactMap { try $0.eventID(in: store) }))
      case .last(let count): return .scope(.lastCommits(count))
      case .since(let moment, let library, let replica):
        let first = try moment.first.map(LogMoment.milliseconds) ?? moment.resolved(in: store)
        let replica = try replica.map { try Moment.replica(named: $0, in: store) }
        return .scope(.since(first, library: library, replica: replica))
      }
    }
  }
}
