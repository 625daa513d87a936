import Heartlog

/// `heartlog log`: shows the events of the log.
enum LogCommand: Command {
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
    page: #"""
      Each line shows the time on the device that wrote the event, the event's id (which is valid as WHEN), its action, the item and the fields.

      The log of one item marks writes that other devices contradicted: the sides of open conflicts, and what lost to a write that had not seen
      it.

      heartlog log -n 20  # Show the last 20 events.
      heartlog log cities 2950159  # Show the history of one city.
      heartlog log --since 2026-03-01 --until 2026-03-14  # Show the events of two weeks.
      heartlog log --since "2 hours ago"  # Show recent events.
      heartlog log --follow --json  # Print events as JSON as they come.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    try context.reading { try show(arguments, context) }
  }

  private static func show(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let (library, item) = (arguments.optionalText(Self.library), arguments.optionalText(Self.item))
    let directory = try context.storeDirectory()
    // With -n nothing is printed before the end of the log, which may be far.
    let filter = try EventFilter(
      library: library, item: item, replicas: arguments.texts(Self.replica),
      since: arguments.moment(Self.since), until: arguments.moment(Self.until), store: directory)
    let history = try history(of: item, in: library, context)
    var printer = EventPrinter(context)
    func show(_ line: EventLine) throws {
      var line = line
      if let history { line.fates = history.fates(of: line.id) }
      try printer.take(line)
    }
    let log: LogReader
    if let count = arguments.count(Self.last) {
      let last = try LastEvents(count, where: filter, at: directory)
      log = last.log
      for line in last.lines { try show(line) }
    } else {
      log = try filter.reader(at: directory)
      try log.forEachEvent(where: filter, show)
    }
    try printer.flush()
    if arguments.has(Self.follow) { try follow(log, filter, &printer, context) }
    if context.isJSON { try context.jsonPartial(log.findings) }
    // Without a library, withheld events are shown as such.
    return try context.report(log.findings)
  }

  /// The history of the only item that is shown; nil if there are others, or if there is no other device that could contradict.
  private static func history(
    of item: String?, in library: String?, _ context: CommandContext
  ) throws -> ItemHistory? {
    guard let library, let item, try ReplicaDirectory(at: try context.storeDirectory()).count > 1 else {
      return nil
    }
    let store = try context.openForReading()
    return try ItemHistory(of: item, in: library, from: try store.readLog(), of: store)
  }

  /// Prints new events until the process is interrupted or the output is closed.
  private static func follow(
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

/// The last events that a filter takes. They are looked for at the ends of the streams, then further back.
private struct LastEvents {
  /// It continues after them.
  let log: LogReader
  let lines: [EventLine]

  init(_ count: Int, where filter: EventFilter, at directory: String) throws {
    var sealedMax = filter.isNearTheEnd ? 1 : nil
    while true {
      let log = try LogReader(at: directory, lastSealed: sealedMax)
      var lines: [EventLine] = []
      func isThere(_ position: CommitPosition) -> Bool { position >= log.completeFrom ?? position }
      if filter.takesAllTimes, filter.takesAllRecords {
        let commits = try log.lastCommits(count) { isThere($0) && filter.takes($0, at: 0) }
        lines = commits.flatMap { EventLine.all(of: $0) }
      } else {
        try log.forEachCommit(of: filter.onlyItem) {
          isThere($0) && filter.takes($0, at: $1)
        } _: { commit in
          lines += EventLine.all(of: commit).filter { filter.takes($0.record) }
          // Not one by one, which would move all others each time.
          if lines.count > 1_000, lines.count / 2 >= count { lines.removeFirst(lines.count - count) }
        }
      }
      let isSound = log.findings.isEmpty
      if sealedMax == nil
        || isSound && (lines.count >= count || filter.takesNothing(before: log.completeFrom))
      {
        (self.log, self.lines) = (log, Array(lines.suffix(count)))
        return
      }
      // Behind damage, only what a reader of the whole log still reaches is shown.
      sealedMax = isSound ? sealedMax.map { $0 * 4 } : nil
    }
  }
}

/// Selects the events that `log` shows: times by wall times, as they are shown, and events by the order of the log.
struct EventFilter {
  private let library: String?
  private let item: String?
  private let replicas: Set<ReplicaID>?
  /// Whether no time bounds it, so that `takes` needs none.
  let takesAllTimes: Bool
  /// Whether its last events are likely near the end of the log.
  let isNearTheEnd: Bool
  private let isSince: (CommitPosition, Milliseconds) -> Bool
  /// Whether it takes no commit before a position; nil if nothing bounds it below.
  private let beginsAfter: ((CommitPosition) -> Bool)?
  private let isUntil: (CommitPosition, Milliseconds) -> Bool

  /// - Parameter directory: the store in which names of replicas and events are looked up.
  init(
    library: String?, item: String?, replicas names: [String], since: Moment?, until: Moment?,
    store directory: String
  ) throws {
    self.library = library
    self.item = item
    takesAllTimes = since == nil && until == nil
    isNearTheEnd = since != nil || until == nil && item == nil
    let needsReplicas = !names.isEmpty || [since, until].contains { $0 != nil && $0?.last == nil }
    let directory = needsReplicas ? try ReplicaDirectory(at: directory) : nil
    replicas = try names.isEmpty ? nil : Set(names.flatMap { try directory?.replicas(named: $0) ?? [] })
    if let position = try since.flatMap({ try directory?.position(of: $0) }) {
      isSince = { commit, _ in commit >= position }
      beginsAfter = { $0 <= position }
    } else if let first = since?.first {
      isSince = { _, time in time >= first }
      // No stamp is below a wall time of its stream so far.
      beginsAfter = { $0.stamp.milliseconds < first }
    } else {
      isSince = { _, _ in true }
      beginsAfter = nil
    }
    isUntil = try until.map { try Self.bound(until: $0, in: directory) } ?? { _, _ in true }
  }

  /// Whether a commit, given its position in the order of all commits and its time in the log, is within a moment.
  static func bound(
    until moment: Moment, in directory: ReplicaDirectory?
  ) throws -> (CommitPosition, Milliseconds) -> Bool {
    if let last = moment.last { return { _, time in time <= last } }
    guard let position = try directory?.position(of: moment) else { return { _, _ in false } }
    return { commit, _ in commit <= position }
  }

  /// Whether any event of a commit may be shown.
  ///
  /// - Parameters:
  ///   - commit: its position in the order of all commits.
  ///   - time: the time of the commit in the log.
  func takes(_ commit: CommitPosition, at time: Milliseconds) -> Bool {
    isSince(commit, time) && isUntil(commit, time) && replicas?.contains(commit.replica) ?? true
  }

  /// Whether it takes no commit before this position; true for nil, before which there is none.
  func takesNothing(before position: CommitPosition?) -> Bool {
    position.map { beginsAfter?($0) ?? false } ?? true
  }

  /// A reader of everything that it takes.
  func reader(at directory: String) throws -> LogReader {
    try beginsAfter.map { try LogReader.ends(at: directory, from: $0) } ?? LogReader(at: directory)
  }

  /// Whether it takes all events of the commits that it takes.
  var takesAllRecords: Bool { library == nil }

  /// The only item whose events are shown; nil if there are others.
  var onlyItem: (library: String, id: String)? {
    guard let library, let item else { return nil }
    return (library, item)
  }

  func takes(_ record: EventRecord) -> Bool {
    guard let library else { return true }
    guard let event = record.event else { return false }
    return event.library == library && (item.map { event.item.hasSameBytes(as: $0) } ?? true)
  }
}

/// The replicas of a store, and the positions of its commits.
struct ReplicaDirectory {
  private let log: LogReader

  init(at path: String) throws {
    log = try LogReader(at: path)
    // The first read finds every stream; names do not need the rest of the log.
    _ = try log.next()
  }

  var count: Int { log.replicas.count }

  private var all: [(id: ReplicaID, name: String)] { log.replicas.map { ($0, log.name(of: $0) ?? "") } }

  /// The replicas named `text`, or else the one whose id begins with it.
  func replicas(named text: String) throws(CommandError) -> [ReplicaID] {
    let named = all.filter { $0.name.hasSameBytes(as: text) }
    guard named.isEmpty else { return named.map(\.id) }
    return [try Moment.replica(text.lowercased(), among: all)]
  }

  /// A moment with the full id of its replica.
  func resolved(_ moment: Moment) throws(CommandError) -> PastMoment {
    PastMoment(given: moment, inLog: try moment.resolved(among: all))
  }

  /// The position in the total order of the commit that a moment names; nil for a time.
  func position(of moment: Moment) throws -> CommitPosition? {
    let moment = try resolved(moment).inLog
    if let position = try log.position(of: moment) { return position }
    if let absence = moment.absence { throw absence }
    return nil
  }
}

extension LogReader {
  /// Calls `body` with the events that exist now and that `filter` takes, in order.
  func forEachEvent(where filter: EventFilter, _ body: (EventLine) throws -> Void) throws {
    try forEachCommit(of: filter.onlyItem, where: filter.takes) { commit in
      for line in EventLine.all(of: commit) where filter.takes(line.record) { try body(line) }
    }
  }
}
