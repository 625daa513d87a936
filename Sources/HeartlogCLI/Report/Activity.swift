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

  /// `day`, `week` or `month`.
  var unit: String {
    switch period {
    case .day: "day"
    case .week: "week"
    case .month: "month"
    }
  }

  /// `2026-03-02`, and `2026-03` for a month.
  func label(_ interval: Statistics.Interval) -> String {
    String(RFC3339.text(interval.start).prefix(period == .month ? 7 : 10))
  }
}
