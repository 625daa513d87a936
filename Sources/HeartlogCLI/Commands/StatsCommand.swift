import Heartlog

/// `heartlog stats`: counts and trends from the log.
struct StatsCommand: Command {
  private static let library = Argument(
    "LIBRARY", .optional, .library, "Only this library; all where it is left out.")
  private static let period = Option.value(
    "by", "PERIOD", .choice(["day", "week", "month"]),
    "day, week (from Monday on, the default) or month.")
  private static let since = Option.value(
    "since", "WHEN", .moment, "Count only events from then on; a date means its start.")
  private static let until = Option.value(
    "until", "WHEN", .moment, "Count only events up to then; a date means its end.")

  static let description = CommandDescription(
    name: "stats", group: .read, summary: "count what happened: by time, by item, by device",
    arguments: [library], options: [period, since, until],
    paragraphs: [
      "Each period, empty ones between others too, has how often something was made a favorite, was made one no longer, or had fields "
        + "written, and how many favorites there were at its end. Below are the items that were switched most often, and the events of each "
        + "device and origin."
    ],
    examples: [
      .init("heartlog stats", "All libraries, week by week."),
      .init("heartlog stats papers --by month --since 2026-01-01", "A year of papers."),
      .init("heartlog stats --by day --json", "A trend for a program."),
    ],
    endings: [.init(.badInput, "A part of the store is damaged; what is sound is counted.")])

  let library: String?
  let period: Statistics.Period
  let since: Moment?
  let until: Moment?

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
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    try context.reading {
      let directory = try context.storeDirectory()
      let filter = try EventFilter(
        library: nil, item: nil, replicas: [], since: since, until: until, store: directory)
      let log = try LogReader(at: directory)
      let zone = context.clock.zone
      let calendar = PeriodCalendar(
        local: { zone.localTime(at: $0).milliseconds }, time: { zone.first(LocalTime(milliseconds: $0)) })
      let statistics = try Statistics(
        reading: log, library: library, by: period, of: calendar, where: filter.takes)
      let page = StatisticsPage(statistics: statistics, period: period, zone: zone) { log.name(of: $0) }
      if context.isJSON {
        try page.write(context)
        try context.jsonPartial(log.findings)
      } else {
        for line in page.lines(style: context.style, width: context.width) { try context.output.line(line) }
      }
      return try context.report(log.findings)
    }
  }
}
