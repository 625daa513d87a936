/// What happened in a library, or in all of a store, counted from its log.
public struct Statistics: Hashable, Sendable {
  /// Days, weeks and months of UTC; weeks begin on Monday.
  public enum Period: Hashable, Sendable, CaseIterable {
    /// From midnight to midnight.
    case day
    /// From Monday to Sunday.
    case week
    /// From the first day of a month to its last.
    case month
  }

  /// One day, week or month.
  public struct Interval: Hashable, Sendable {
    /// The period's first millisecond.
    public let start: Milliseconds
    /// Events that made a favorite.
    public let favorited: Int
    /// Events that made one no favorite.
    public let unfavorited: Int
    /// Events that wrote fields alone.
    public let changed: Int
    /// How many favorites there were at its end.
    public let favoritesAtEnd: Int
    /// How many periods without an event lie between the interval before it and this one; 0 for the first.
    public let emptyPeriodsBefore: Int
  }

  /// How often an item was made a favorite, or none.
  public struct ItemTally: Hashable, Sendable {
    /// The item's library.
    public let library: String
    /// The item as the log leaves it.
    public let item: ItemState
    /// Events that switched it.
    public let taps: Int
  }

  /// How many events a device wrote in the name of one origin.
  public struct SourceTally: Hashable, Sendable {
    /// The device.
    public let replica: ReplicaID
    /// Who wrote there: `cli`, or an app's name; nil where nobody said.
    public let origin: String?
    /// Events of that device and origin.
    public let events: Int
  }

  /// The periods with an event, the first one first. Those without one are left out: a single odd date would make hundreds of thousands
  /// of them.
  public let intervals: [Interval]
  /// The items that were switched most often, the most first, equals by library and id.
  public let mostTapped: [ItemTally]
  /// By device and origin, the most events first.
  public let sources: [SourceTally]
}

extension Statistics {
  /// How many items `mostTapped` has.
  public static let mostTappedMax = 5

  /// Counts the rest of a log.
  ///
  /// Periods go by the wall times of events. `favoritesAtEnd` is the running sum of what the events of the merged log switched, those that
  /// are not counted among them, so that the last one of a whole log is the number of favorites now. O(events in the log). Where the log
  /// is damaged, what is sound is counted: see the log's `findings`.
  ///
  /// - Parameters:
  ///   - log: from where it stands on.
  ///   - library: whose events; those of all libraries where nil.
  ///   - period: what makes one of `intervals`.
  ///   - isCounted: whether a commit's events count; the log's `lastTime` is that commit's. All count where nil, which is much faster.
  /// - Throws: `inputOutput` where a file cannot be read.
  public init(
    reading log: LogReader, library: String? = nil, by period: Period,
    where isCounted: ((Commit) -> Bool)? = nil
  ) throws(HeartlogError) {
    guard let isCounted else {
      try self.init(reading: log, library: library, by: period, of: .utc) { _, _ in true }
      return
    }
    var counter = StatisticsCounter(of: library, by: period, calendar: .utc)
    while let commit = try log.next() { counter.take(commit, isCounted: isCounted(commit)) }
    self = counter.statistics
  }

  /// Counts the rest of a log by the periods of a calendar. Commits stay in the blocks that they lie in.
  ///
  /// - Parameter isCounted: whether the events of a commit count, by its position and its time as the log tells it.
  package init(
    reading log: LogReader, library: String?, by period: Period, of calendar: PeriodCalendar,
    where isCounted: (CommitPosition, Milliseconds) -> Bool
  ) throws(HeartlogError) {
    var counter = StatisticsCounter(of: library, by: period, calendar: calendar)
    while let run = try log.nextRun() {
      switch run.commits {
      case .one(let commit):
        counter.take(commit, isCounted: isCounted(commit.position, log.lastTime))
      case .several(let block, let places):
        counter.take(places, of: block, timeBefore: run.timeBefore, where: isCounted)
      }
    }
    self = counter.statistics
  }
}

extension FavoritesLibrary {
  /// Counts what happened by the day, week or month of the events' wall times. Reads the whole log.
  ///
  /// `favoritesAtEnd` is the running sum of what the events of the merged log switched, so that its last one is the number of favorites
  /// now. O(events in the log).
  ///
  /// - Throws: `corrupt` where the log cannot be read to its end; `inputOutput`.
  public func statistics(by period: Statistics.Period) throws(HeartlogError) -> Statistics {
    let log = try store.readLog()
    let statistics = try Statistics(reading: log, library: name, by: period)
    if let finding = log.findings.first { throw finding.error }
    return statistics
  }
}

extension Statistics.Period {
  private static let dayLength = CivilDate.dayMilliseconds
  /// 1970-01-01 was a Thursday: weeks that begin on Monday are three days off.
  private static let weekOffset = 3 * dayLength

  /// The first millisecond of the period that a time lies in.
  func start(of time: Milliseconds) -> Milliseconds {
    let day = Self.floor(time, Self.dayLength)
    switch self {
    case .day: return day
    case .week: return Self.floor(time + Self.weekOffset, 7 * Self.dayLength) - Self.weekOffset
    case .month: return day - Int64(CivilDate(time).day - 1) * Self.dayLength
    }
  }

  /// Times from `start(of:)` up to here lie in one period, which may be longer.
  func end(from start: Milliseconds) -> Milliseconds {
    switch self {
    case .day: return start + Self.dayLength
    case .week: return start + 7 * Self.dayLength
    case .month:
      // No month is longer, and none shorter than 28 days.
      let later = start + 31 * Self.dayLength
      return later > Limits.dateMillisecondsMax ? start + 28 * Self.dayLength : self.start(of: later)
    }
  }

  /// How many periods later the one that begins at `end` is than the one that begins at `start`.
  func count(from start: Milliseconds, to end: Milliseconds) -> Int {
    switch self {
    case .day: Int((end - start) / Self.dayLength)
    case .week: Int((end - start) / (7 * Self.dayLength))
    case .month: Self.month(of: end) - Self.month(of: start)
    }
  }

  /// The months since the year 0.
  private static func month(of time: Milliseconds) -> Int {
    let date = CivilDate(time)
    return date.year * 12 + date.month
  }

  /// `time`, rounded down: local times may lie before 1970.
  private static func floor(_ time: Milliseconds, _ length: Milliseconds) -> Milliseconds {
    let rest = time % length
    return time - (rest < 0 ? rest + length : rest)
  }
}

/// Whose days and months are counted.
package struct PeriodCalendar: Sendable {
  /// What clocks show at a time, in milliseconds as though they showed UTC.
  package let local: @Sendable (Milliseconds) -> Milliseconds
  /// The first time at which clocks show as much or more.
  package let time: @Sendable (Milliseconds) -> Milliseconds

  package static let utc = PeriodCalendar(local: { $0 }, time: { $0 })

  package init(
    local: @escaping @Sendable (Milliseconds) -> Milliseconds,
    time: @escaping @Sendable (Milliseconds) -> Milliseconds
  ) {
    self.local = local
    self.time = time
  }
}
