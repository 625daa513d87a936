import Heartlog

/// `heartlog log`: what happened.
struct LogCommand: Command {
  private static let library = Argument("LIBRARY", .optional, .library, "Only events of this library.")
  private static let item = Argument("ID", .optional, .item, "Only events of this item of it.")
  private static let replica = Option.value(
    "replica", "R", .text, isRepeatable: true,
    "Only events of this device, by its name or the first digits of its id.")
  private static let since = Option.value(
    "since", "WHEN", .moment, "Only events from then on; a date means its start.")
  private static let until = Option.value(
    "until", "WHEN", .moment, "Only events up to then; a date means its end.")
  private static let last = Option.value(short: "n", "N", .count, "Only the last N of them.")
  private static let follow = Option.flag(
    "follow", short: "f", "Wait, and print events as they come, until interrupted.")

  static let description = CommandDescription(
    name: "log", group: .read, summary: "show what happened, oldest first",
    arguments: [library, item], options: [replica, since, until, last, follow],
    paragraphs: [
      "Each line has the time on the device that wrote it, the event (as other commands take it for WHEN), what happened, "
        + "and to which item."
    ],
    examples: [
      .init("heartlog log -n 20", "The last twenty events."),
      .init("heartlog log cities 2950159", "The history of one city."),
      .init("heartlog log --since 2026-03-01 --until 2026-03-14", "A fortnight."),
      .init("heartlog log --since \"2 hours ago\"", "What happened of late."),
      .init("heartlog log --follow --json", "A stream for a program."),
    ],
    endings: [.init(.badInput, "A part of the store is damaged; the log is shown as far as it is sound.")])

  let library: String?
  let item: String?
  /// Names or prefixes of ids; none where all are wanted.
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
    // The end of the log may be far: with -n nothing is printed on the way there.
    let filter = try EventFilter(
      library: library, item: item, replicas: replicas, since: since, until: until, store: directory)
    let log = try LogReader(at: directory)
    var printer = EventPrinter(context)
    var last = LastLines(count: self.last)
    try log.forEachEvent(where: filter) { line in
      if self.last == nil { try printer.take(line) } else { last.take(line) }
    }
    for line in last.lines { try printer.take(line) }
    try printer.flush()
    if follows { try follow(log, filter, &printer, context) }
    if context.isJSON { try context.jsonPartial(log.findings) }
    return try context.report(log.findings)
  }

  /// Waits for events until the process is interrupted, or nobody reads the output any more.
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

/// The last lines of many.
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
