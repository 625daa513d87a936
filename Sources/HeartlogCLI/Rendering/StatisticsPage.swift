import Heartlog
import HeartlogLibraries

/// Formats statistics, as JSON and as text.
struct StatisticsPage {
  let statistics: Statistics
  let period: Statistics.Period
  /// The zone of the periods, in JSON too.
  let zone: Zone
  /// As of when the counts are; nil for now.
  var moment: PastMoment?
  let name: (ReplicaID) -> String?

  /// Prints one object for each period, each of the most tapped items, and each device and origin; `kind` distinguishes them.
  func write(_ context: CommandContext) throws {
    for interval in statistics.intervals {
      try context.jsonLine { json in
        json.member("kind", "period")
        json.member("start", RFC3339.text(interval.start))
        json.member("favorited", interval.favorited)
        json.member("unfavorited", interval.unfavorited)
        json.member("changed", interval.changed)
        json.member("favoritesAtEnd", interval.favoritesAtEnd)
        json.asOf(moment)
      }
    }
    for tally in statistics.mostTapped {
      try context.jsonLine { json in
        json.member("kind", "item")
        json.member("library", tally.library)
        json.member("id", tally.item.id)
        json.member("isFavorite", tally.item.isFavorite)
        json.member("taps", tally.taps)
        json.asOf(moment)
      }
    }
    for tally in statistics.sources {
      try context.jsonLine { json in
        json.member("kind", "source")
        json.member("replica", tally.replica.description)
        json.member("name", name(tally.replica) ?? "")
        if let origin = tally.origin { json.member("origin", origin) }
        json.member("events", tally.events)
        json.asOf(moment)
      }
    }
  }

  func lines(style: Style, width: Int?) -> [String] {
    guard !statistics.intervals.isEmpty else { return ["no events"] }
    let heading = zone.isUTC ? [] : [style(.faint, "\(unit)s of \(DisplayText.visible(zone.name))")]
    var lines = heading + periods.lines(style: style, width: width)
    if !statistics.mostTapped.isEmpty {
      lines += ["", style(.heading, "Most tapped")] + items(style).lines(style: style, width: width)
    }
    return lines + ["", style(.heading, "Events by device and origin")]
      + sources.lines(style: style, width: width)
  }

  /// The width of the longest bar.
  private static let barWidth = 24

  private var periods: Table {
    var table = Table([
      .init(title: title), .init(title: "added", alignment: .right),
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
        let empty = "\(Quantity.count(interval.emptyPeriodsBefore, unit)) without events"
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

  private var title: String {
    switch period {
    case .day: "day"
    case .week: "week of"
    case .month: "month"
    }
  }

  private var unit: String {
    switch period {
    case .day: "day"
    case .week: "week"
    case .month: "month"
    }
  }

  /// `2026-03-02`, and `2026-03` for a month.
  private func label(_ start: Milliseconds) -> String {
    String(zone.localTime(at: start).date.prefix(period == .month ? 7 : 10))
  }

  private func items(_ style: Style) -> Table {
    var table = Table([
      .init(alignment: .right), .init(), .init(), .init(isFlexible: true, keepsEnd: true),
      .init(isFlexible: true),
    ])
    for tally in statistics.mostTapped {
      let isFavorite = tally.item.isFavorite
      table.add([
        .init("\(Quantity.count(tally.taps)) ×"),
        .init(isFavorite ? "♥" : "♡", isFavorite ? .favorite : .faint),
        .init(tally.library), .init(DisplayText.identifier(tally.item.id), .name),
        .init(LibraryRegistry.standard[tally.library].titleLine(of: tally.item)),
      ])
    }
    return table
  }

  private var sources: Table {
    var table = Table([.init(alignment: .right), .init(isFlexible: true), .init(), .init()])
    for tally in statistics.sources {
      table.add([
        .init(Quantity.count(tally.events)), .init(name(tally.replica) ?? "", .name),
        .init(String(tally.replica.description.prefix(EventLine.prefixDigits)), .faint),
        .init(tally.origin ?? "", .faint),
      ])
    }
    return table
  }
}
