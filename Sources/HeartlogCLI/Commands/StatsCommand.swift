import Heartlog

/// `heartlog stats`: counts the events of the log.
struct StatsCommand: Command {
  private static let library = Argument(
    "LIBRARY", .optional, .library, "Count only events of this library. Default: all libraries.")
  private static let period = Option.value(
    "by", "PERIOD", .choice(["day", "week", "month"]),
    "day, week (from Monday, the default) or month.")
  private static let since = Option.value(
    "since", "WHEN", .moment, "Count only events from then on; a date means its start.")
  private static let until = Option.value(
    "until", "WHEN", .moment, "Count only events up to then; a date means its end.")

  static let description = CommandDescription(
    name: "stats", group: .read, summary: "count events by time, by item and by device",
    arguments: [library], options: [period, since, until, .at],
    paragraphs: [
      "Shows for each period with events how many of them made a favorite, removed one, or only wrote fields, and how many favorites "
        + "there were at its end. A line says how many periods without events were left out. Below are the items that were switched most "
        + "often, and the number of events of each device and origin."
    ],
    examples: [
      .init("heartlog stats", "Count the events of all libraries by week."),
      .init("heartlog stats papers --by month --since 2026-01-01", "Count the events of papers by month."),
      .init("heartlog stats --at 2026-03-02", "Show what the counts were at the end of that day."),
      .init("heartlog stats --by day --json", "Print counts by day as JSON."),
    ],
    endings: [.init(.badInput, "Part of the store is damaged; the sound part was counted.")])

  let library: String?
  let period: Statistics.Period
  let since: Moment?
  let until: Moment?
  let moment: Moment?

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.optionalText(Self.library)
    period =
      switch arguments.text(Self.period) {
      case "day": .day
      case "month": .month
      default: .week
      }
    since = try arguments.moment(Self.since)
    until = try arguments.moment(Self.until)
    moment = try arguments.moment(.at)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.reading {
      let directory = try context.storeDirectory()
      let filter = try EventFilter(
        library: nil, item: nil, replicas: [], since: since, until: until, store: directory)
      let replicas = try moment.map { _ in try ReplicaDirectory(at: directory) }
      let past = try moment.flatMap { try replicas?.resolved($0) }
      let isPast = try past.map { try EventFilter.bound(until: $0.given, in: replicas) }
      let log = try LogReader(at: directory)
      let zone = context.clock.zone
      let calendar = PeriodCalendar(
        local: { zone.localTime(at: $0).milliseconds }, time: { zone.first(LocalTime(milliseconds: $0)) })
      let statistics = try Statistics(
        reading: log, library: library, by: period, of: calendar, upTo: isPast, where: filter.takes)
      let page = StatisticsPage(statistics: statistics, period: period, zone: zone, moment: past) {
        log.name(of: $0)
      }
      if context.isJSON {
        try page.write(context)
        try context.jsonPartial(log.findings)
      } else {
        try context.lineWithMoment(past)
        for line in page.lines(style: context.style, width: context.width) { try context.output.line(line) }
      }
      return try context.report(log.findings)
    }
  }
}
