import Heartlog

/// The events of a store by period and library, as `stats` counts them.
struct Activity {
  /// The most libraries that are counted by themselves: those with the most events.
  static let librariesMax = 8
  /// The most periods with events; beyond, the periods are longer, or the latest are shown.
  static let periodsMax = 62

  /// The periods, in UTC.
  let period: Statistics.Period
  /// Of all libraries; the latest, at most `periodsMax`.
  let intervals: [Statistics.Interval]
  /// The number of earlier periods with events.
  let earlierPeriods: Int
  /// By name.
  let libraries: [(name: String, intervals: [Milliseconds: Statistics.Interval])]
  /// The number of other libraries.
  let otherLibraries: Int
  let sources: [Statistics.SourceTally]

  /// Counts the log up to the heads of a state.
  init(
    of store: FavoritesStore, upTo heads: [ReplicaID: CommitNumber], in all: [StoreStatus.Library]
  ) throws {
    func statistics(_ library: String?, by period: Statistics.Period) throws -> Statistics {
      try Statistics(
        reading: try store.readLog(), library: library, by: period, of: .utc,
        upTo: { commit, _ in heads[commit.replica].map { commit.number <= $0 } ?? false },
        where: { _, _ in true })
    }
    var period = Statistics.Period.day
    var whole = try statistics(nil, by: period)
    for longer in [Statistics.Period.week, .month] where whole.intervals.count > Self.periodsMax {
      period = longer
      whole = try statistics(nil, by: period)
    }
    self.period = period
    earlierPeriods = max(0, whole.intervals.count - Self.periodsMax)
    intervals = Array(whole.intervals.suffix(Self.periodsMax))
    sources = whole.sources
    let busiest = all.sorted { ($1.counts.events, $0.name) < ($0.counts.events, $1.name) }
      .prefix(Self.librariesMax)
    otherLibraries = all.count - busiest.count
    libraries = try busiest.sorted { $0.name < $1.name }.map { library in
      let counted = try statistics(library.name, by: period).intervals
      return (library.name, Dictionary(uniqueKeysWithValues: counted.map { ($0.start, $0) }))
    }
  }

  var unit: String { period.name }

  /// `2026-03-02`, and `2026-03` for a month.
  func label(_ interval: Statistics.Interval) -> String {
    String(RFC3339.text(interval.start).prefix(period == .month ? 7 : 10))
  }
}

/// Draws the activity: for each library, what was added and changed above a line, and what was removed below it. Lengths are in tenths.
struct ActivityChart {
  private static let width = 7600
  private static let left = 1300
  private static let top = 300
  private static let rowHeight = 620
  private static let rowGap = 140
  private static let bottom = 260
  /// Longer gaps between periods are cut to this many.
  private static let gapMax = 3
  /// The least distance between two labels.
  private static let labelWidth = 800

  let activity: Activity

  var html: HTML {
    let slots = slots
    let slotWidth = min(600, (Self.width - Self.left) / max(1, (slots.last?.slot ?? 0) + 1))
    let height = Self.top + activity.libraries.count * (Self.rowHeight + Self.rowGap) + Self.bottom
    let most = most
    let end = height - Self.bottom
    var parts = legend
    for (index, library) in activity.libraries.enumerated() {
      let top = Self.top + index * (Self.rowHeight + Self.rowGap)
      let base = top + Self.rowHeight * most.up / max(1, most.up + most.down)
      parts.append(
        text(DisplayText.truncated(DisplayText.visible(library.name), to: 18), x: 0, y: base + 40))
      parts.append(line("axis", x: Self.left, y: base, toX: Self.width, toY: base))
      for (interval, slot) in slots {
        guard let counts = library.intervals[interval.start] else { continue }
        let x = Self.left + slot * slotWidth + slotWidth / 10
        let added = barHeight(counts.favorited, most)
        let changed = barHeight(counts.changed, most)
        parts.append(bar("added", x: x, y: base - added, slotWidth, added))
        parts.append(bar("changed", x: x, y: base - added - changed, slotWidth, changed))
        parts.append(bar("removed", x: x, y: base, slotWidth, barHeight(counts.unfavorited, most)))
      }
    }
    for (interval, slot) in slots where interval.emptyPeriodsBefore > Self.gapMax && slot > 0 {
      let x = Self.left + slot * slotWidth - slotWidth * Self.gapMax / 2
      parts.append(line("gap", x: x, y: Self.top, toX: x, toY: end))
    }
    var free = 0
    for (interval, slot) in slots where Self.left + slot * slotWidth >= free {
      let x = Self.left + slot * slotWidth
      guard x + Self.labelWidth <= Self.width + 200 else { break }
      parts.append(text(activity.label(interval), x: x, y: end + 140))
      free = x + Self.labelWidth
    }
    return HTML(
      .svg,
      [
        "viewBox": "0 0 \(Self.text(Self.width)) \(Self.text(height))", "role": "img",
        "aria-labelledby": "chart-title chart-desc",
      ], HTML(.title, ["id": "chart-title"], "Events by library and \(activity.unit)"),
      HTML(.desc, ["id": "chart-desc"], description), Self.hatch, HTML(parts))
  }

  private static let hatch = HTML(
    .defs,
    HTML(
      .pattern, ["id": "hatch", "width": "4", "height": "4", "patternUnits": "userSpaceOnUse"],
      HTML(.path, ["class": "hatch", "d": "M-1 1L1 -1M0 4L4 0M3 5L5 3"])))

  /// The periods with their places on the axis.
  private var slots: [(interval: Statistics.Interval, slot: Int)] {
    var slot = -1
    return activity.intervals.enumerated().map { index, interval in
      slot += 1 + (index == 0 ? 0 : min(Self.gapMax, interval.emptyPeriodsBefore))
      return (interval, slot)
    }
  }

  /// The most events of a bar above and below the line.
  private var most: (up: Int, down: Int) {
    let starts = Set(activity.intervals.map(\.start))
    let counts = activity.libraries.flatMap { $0.intervals.values.filter { starts.contains($0.start) } }
    return (
      counts.map { $0.favorited + $0.changed }.max() ?? 0, counts.map(\.unfavorited).max() ?? 0
    )
  }

  private var description: HTML {
    "One row for each library, one bar for each \(activity.unit) in UTC with events. Above the line: events that made a favorite "
      + "(filled) and events that only wrote fields (outlined). Below the line: events that removed a favorite (hatched). At most "
      + "\(most.up) events above and \(most.down) below. The table that follows has the same numbers."
  }

  private var legend: [HTML] {
    var x = Self.left
    return [
      ("added", "added", 900), ("changed", "fields changed", 1400),
      ("removed", "removed (below the line)", 0),
    ].map { kind, title, width in
      defer { x += width }
      return bar(kind, x: x, y: 40, 125, 100) + text(title, x: x + 160, y: 130)
    }
  }

  /// At least one pixel for one event.
  private func barHeight(_ count: Int, _ most: (up: Int, down: Int)) -> Int {
    count == 0 ? 0 : max(10, Self.rowHeight * count / max(1, most.up + most.down))
  }

  private func bar(_ kind: String, x: Int, y: Int, _ slotWidth: Int, _ height: Int) -> HTML {
    guard height > 0 else { return "" }
    return HTML(
      .rect,
      [
        "class": kind, "x": Self.text(x), "y": Self.text(y), "width": Self.text(slotWidth * 8 / 10),
        "height": Self.text(height),
      ])
  }

  private func line(_ kind: String, x: Int, y: Int, toX: Int, toY: Int) -> HTML {
    HTML(
      .line,
      ["class": kind, "x1": Self.text(x), "y1": Self.text(y), "x2": Self.text(toX), "y2": Self.text(toY)])
  }

  private func text(_ text: String, x: Int, y: Int) -> HTML {
    HTML(.text, ["x": Self.text(x), "y": Self.text(y)], HTML(text: text))
  }

  private static func text(_ tenths: Int) -> String {
    tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
  }
}
