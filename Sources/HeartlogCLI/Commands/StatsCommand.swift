import Heartlog
import HeartlogLibraries

/// `heartlog stats`: counts the events of the log.
enum StatsCommand: Command {
  private static let library = Argument(
    "LIBRARY", .optional, .library, "Count only events of this library. Default: all libraries.")
  private static let period = Option.value(
    "by", "PERIOD", .choice(Statistics.Period.allCases.map(\.name)),
    "day, week (from Monday, the default) or month.")
  private static let since = Option.value(
    "since", "WHEN", .moment, "Count only events from then on; a date means its start.")
  private static let until = Option.value(
    "until", "WHEN", .moment, "Count only events up to then; a date means its end.")

  static let description = CommandDescription(
    name: "stats", group: .read, summary: "count events by time, by item and by device",
    arguments: [library], options: [period, since, until, .at],
    page: """
      Shows for each period with events how many of them made a favorite, removed one, or only wrote fields, and how many favorites there were
      at its end. A line says how many periods without events were left out. Below are the items that were switched most often, and the number
      of events of each device and origin.

      heartlog stats  # Count the events of all libraries by week.
      heartlog stats papers --by month --since 2026-01-01  # Count the events of papers by month.
      heartlog stats --at 2026-03-02  # Show what the counts were at the end of that day.
      heartlog stats --by day --json  # Print counts by day as JSON.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    try context.reading {
      let directory = try context.storeDirectory()
      let filter = try EventFilter(
        library: nil, item: nil, replicas: [], since: arguments.moment(Self.since),
        until: arguments.moment(Self.until), store: directory)
      let moment = arguments.moment(.at)
      let replicas = try moment.map { _ in try ReplicaDirectory(at: directory) }
      let past = try moment.flatMap { try replicas?.resolved($0) }
      let period =
        Statistics.Period.allCases.first { $0.name == arguments.text(Self.period) } ?? .week
      let isPast = try past.map { try EventFilter.bound(until: $0.given, in: replicas) }
      let log = try LogReader(at: directory)
      let zone = context.clock.zone
      let calendar = PeriodCalendar(
        local: { zone.localTime(at: $0).milliseconds }, time: { zone.first(LocalTime(milliseconds: $0)) })
      let statistics = try Statistics(
        reading: log, library: arguments.optionalText(Self.library), by: period, of: calendar, upTo: isPast,
        where: filter.takes)
      let page = StatisticsPage(statistics: statistics, period: period, zone: zone, moment: past) {
        log.name(of: $0)
      }
      return try context.show(
        page.json, context.asOf(past) + page.lines(context),
        findings: log.findings)
    }
  }
}

/// Formats statistics, as JSON and as text.
struct StatisticsPage {
  let statistics: Statistics
  let period: Statistics.Period
  /// The zone of the periods, in JSON too.
  let zone: Zone
  /// As of when the counts are; nil for now.
  var moment: PastMoment?
  let name: (ReplicaID) -> String?

  /// One object for each period, each of the most tapped items, and each device and origin; `kind` distinguishes them.
  var json: [JSONObject] {
    let asOf = JSONObject.asOf(moment)
    let intervals = statistics.intervals.map { interval -> JSONObject in
      [
        "kind": "period", "start": RFC3339.text(interval.start), "favorited": interval.favorited,
        "unfavorited": interval.unfavorited, "changed": interval.changed,
        "favoritesAtEnd": interval.favoritesAtEnd,
      ]
    }
    let items = statistics.mostTapped.map { tally -> JSONObject in
      [
        "kind": "item", "library": tally.library, "id": tally.item.id, "isFavorite": tally.item.isFavorite,
        "taps": tally.taps,
      ]
    }
    let sources = statistics.sources.map { tally -> JSONObject in
      [
        "kind": "source", "replica": tally.replica, "name": name(tally.replica) ?? "",
        "origin?": tally.origin, "events": tally.events,
      ]
    }
    return (intervals + items + sources).map { $0 + asOf }
  }

  func lines(_ context: CommandContext) -> [String] {
    let style = context.style
    guard !statistics.intervals.isEmpty else { return ["no events"] }
    let heading = zone.isUTC ? [] : [style(.faint, "\(period.name)s of \(DisplayText.visible(zone.name))")]
    var lines = heading + context.lines(periods)
    if !statistics.mostTapped.isEmpty {
      lines += ["", style(.heading, "Most tapped")] + context.lines(items)
    }
    return lines + ["", style(.heading, "Events by device and origin")] + context.lines(sources)
  }

  /// The width of the longest bar.
  private static let barWidth = 24

  private var periods: Table {
    var table = Table([
      .init(title: period == .week ? "week of" : period.name), .init(title: "added", alignment: .right),
      .init(title: "removed", alignment: .right),
      .init(title: "changed", alignment: .right), .init(title: "favorites", alignment: .right),
      .init(isFlexible: true),
    ])
    let most = statistics.intervals.map { $0.favorited + $0.unfavorited }.max() ?? 0
    func bar(_ count: Int, _ block: String) -> String {
      guard count > 0 else { return "" }
      // If the bars are short enough, each tap is one block. A count above zero has at least one.
      return String(
        repeating: block, count: most <= Self.barWidth ? count : max(1, count * Self.barWidth / most))
    }
    for interval in statistics.intervals {
      if interval.emptyPeriodsBefore > 0 {
        let empty = "\(Quantity.count(interval.emptyPeriodsBefore, period.name)) without events"
        table.add([.init("…", .faint), .init(""), .init(""), .init(""), .init(""), .init(empty, .faint)])
      }
      table.add([
        .init(label(interval.start)), .init(Quantity.count(interval.favorited)),
        .init(Quantity.count(interval.unfavorited)), .init(Quantity.count(interval.changed)),
        .init(Quantity.count(interval.favoritesAtEnd)),
        .init(bar(interval.favorited, "█") + bar(interval.unfavorited, "░"), .favorite),
      ])
    }
    return table
  }

  /// `2026-03-02`, and `2026-03` for a month.
  private func label(_ start: Milliseconds) -> String {
    String(zone.localTime(at: start).date.prefix(period == .month ? 7 : 10))
  }

  private var items: Table {
    Table(
      [
        .init(alignment: .right), .init(), .init(), .init(isFlexible: true, keepsEnd: true),
        .init(isFlexible: true),
      ],
      rows: statistics.mostTapped.map { tally in
        [
          .init("\(Quantity.count(tally.taps)) ×"), .heart(tally.item.isFavorite), .init(tally.library),
          .init(DisplayText.identifier(tally.item.id), .name),
          .init(LibraryRegistry.standard[tally.library].titleLine(of: tally.item)),
        ]
      })
  }

  private var sources: Table {
    Table(
      [.init(alignment: .right), .init(isFlexible: true), .init(), .init()],
      rows: statistics.sources.map { tally in
        [
          .init(Quantity.count(tally.events)), .init(name(tally.replica) ?? "", .name),
          .init(tally.replica.short, .faint), .init(tally.origin ?? "", .faint),
        ]
      })
  }
}

extension Statistics.Period {
  var name: String {
    switch self {
    case .day: "day"
    case .week: "week"
    case .month: "month"
    }
  }
}
