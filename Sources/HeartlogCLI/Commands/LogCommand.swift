import Heartlog

/// `heartlog log`: shows the events of the log.
struct LogCommand: Command {
  private static let library = Argument("LIBRARY", .optional, .library, "Show only events of this library.")
  private static let item = Argument("ID", .optional, .item, "Show only events of this item of the library.")
  private static let replica = Option.value(
    "replica", "R", .replica, isRepeatable: true,
    "Show only events of this device: its name or the first digits of its id.")
  private static let since = Option.value(
    "since", "WHEN", .moment, "Show only events from then on; a date means its start.")
  private static let until = Option.value(
    "until", "WHEN", .moment, "Show only events up to then; a date means its end.")
  private static let last = Option.value(short: "n", "N", .count, "Show only the last N of these events.")
  private static let follow = Option.flag(
    "follow", short: "f", "Keep running and print new events until interrupted.")

  static let description = CommandDescription(
    name: "log", group: .read, summary: "show events, oldest first",
    arguments: [library, item], options: [replica, since, until, last, follow],
    paragraphs: [
      "Each line shows the time on the device that wrote the event, the event's id (which is valid as WHEN), its action, the "
        + "item and the fields.",
      "The log of one item marks writes that other devices contradicted: the sides of open conflicts, and what lost to a write that had "
        + "not seen it.",
    ],
    examples: [
      .init("heartlog log -n 20", "Show the last 20 events."),
      .init("heartlog log cities 2950159", "Show the history of one city."),
      .init("heartlog log --since 2026-03-01 --until 2026-03-14", "Show the events of two weeks."),
      .init("heartlog log --since \"2 hours ago\"", "Show recent events."),
      .init("heartlog log --follow --json", "Print events as JSON as they come."),
    ],
    endings: [.init(.badInput, "Part of the store is damaged; the sound part of the log was shown.")])

  let library: String?
  let item: String?
  /// Names or prefixes of ids; empty for all replicas.
  let replicas: [String]
  let since: Moment?
  let until: Moment?
  let last: Int?
  let follows: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.optionalText(Self.library)
    item = arguments.optionalText(Self.item)
    replicas = arguments.texts(Self.replica)
    since = try arguments.moment(Self.since)
    until = try arguments.moment(Self.until)
    last = arguments.count(Self.last)
    follows = arguments.has(Self.follow)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.reading { try show(context) }
  }

  private func show(_ context: CommandContext) throws -> ExitCode {
    let directory = try context.storeDirectory()
    // With -n nothing is printed before the end of the log, which may be far.
    let filter = try EventFilter(
      library: library, item: item, replicas: replicas, since: since, until: until, store: directory)
    let history = try history(context)
    let log = try LogReader(at: directory)
    var printer = EventPrinter(context)
    var last = LastLines(count: self.last)
    try log.forEachEvent(where: filter) { line in
      var line = line
      if let history { line.fates = history.fates(of: line.id) }
      if self.last == nil { try printer.take(line) } else { last.take(line) }
    }
    for line in last.lines { try printer.take(line) }
    try printer.flush()
    if follows { try follow(log, filter, &printer, context) }
    if context.isJSON { try context.jsonPartial(log.findings) }
    // Without a library, withheld events are shown as such.
    return try context.report(log.findings)
  }

  /// The history of the only item that is shown; nil if there are others, or if there is no other device that could contradict.
  private func history(_ context: CommandContext) throws -> ItemHistory? {
    guard let library, let item, try ReplicaDirectory(at: try context.storeDirectory()).count > 1 else {
      return nil
    }
    let store = try context.openForReading()
    return try ItemHistory(of: item, in: library, from: try store.readLog(), of: store)
  }

  /// Prints new events until the process is interrupted or the output is closed.
  private func follow(
    _ log: LogReader, _ filter: EventFilter, _ printer: inout EventPrinter, _ context: CommandContext
  ) throws {
    while log.findings.isEmpty {
      try context.output.flush()
      Terminal.pause(milliseconds: Self.pauseMilliseconds)
      try log.forEachEvent(where: filter) { try printer.take($0) }
      try printer.flush()
    }
  }

  private static let pauseMilliseconds: UInt32 = 100
}

/// Keeps the last lines of a sequence.
private struct LastLines {
  let count: Int?
  private var ring: [EventLine] = []
  private var next = 0

  init(count: Int?) { self.count = count }

  mutating func take(_ line: EventLine) {
    guard let count, count > 0 else { return }
    if ring.count < count {
      ring.append(line)
    } else {
      ring[next] = line
      next = (next + 1) % count
    }
  }

  var lines: [EventLine] { Array(ring[next...] + ring[..<next]) }
}
