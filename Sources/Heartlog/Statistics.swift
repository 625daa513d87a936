/// Counts of what happened in a library or a store, taken from the log.
public struct Statistics: Hashable, Sendable {
  /// Days, weeks and months in UTC. Weeks begin on Monday.
  public enum Period: Hashable, Sendable, CaseIterable {
    /// From midnight to midnight.
    case day
    /// From Monday to Sunday.
    case week
    /// From the first to the last day of a month.
    case month
  }

  /// One day, week or month.
  public struct Interval: Hashable, Sendable {
    /// The first millisecond of the period.
    public let start: Milliseconds
    /// The number of events that made an item a favorite.
    public let favorited: Int
    /// The number of events that removed an item from the favorites.
    public let unfavorited: Int
    /// The number of events that only wrote fields.
    public let changed: Int
    /// The number of favorites at the end of the period.
    public let favoritesAtEnd: Int
    /// The number of periods without an event between the previous interval and this one; 0 for the first.
    public let emptyPeriodsBefore: Int
  }

  /// How often an item was added to or removed from the favorites.
  public struct ItemTally: Hashable, Sendable {
    /// The item's library.
    public let library: String
    /// The item in its state at the end of the log.
    public let item: ItemState
    /// The number of events that added or removed it.
    public let taps: Int
  }

  /// The number of events that a device wrote under one origin.
  public struct SourceTally: Hashable, Sendable {
    /// The device.
    public let replica: ReplicaID
    /// What wrote the events: `cli`, or an app's name; nil if the commits name none.
    public let origin: String?
    /// The number of events.
    public let events: Int
  }

  /// The periods with at least one event, earliest first. Empty periods are left out, because a single wrong date would add hundreds of
  /// thousands of them.
  public let intervals: [Interval]
  /// The items that were added and removed most often, highest count first; ties are ordered by library and id.
  public let mostTapped: [ItemTally]
  /// The counts by device and origin, highest count first.
  public let sources: [SourceTally]
}

extension Statistics {
  /// The maximum number of items in `mostTapped`.
  public static let mostTappedMax = 5

  /// Counts the rest of a log, from its current position.
  ///
  /// Events are assigned to periods by their wall times. `favoritesAtEnd` is a running sum over all events of the merged log, including
  /// those that are not counted; after a whole log, its last value is the current number of favorites. O(events in the log). In a damaged
  /// log, the undamaged commits are counted: see the log's `findings`.
  ///
  /// - Parameters:
  ///   - log: the log to read.
  ///   - library: the library whose events count; all libraries if nil.
  ///   - period: the length of one of `intervals`.
  ///   - isCounted: whether the events of a commit count; while it runs, the log's `lastTime` is the time of that commit. If nil, all
  ///     commits count, which is much faster.
  /// - Throws: `inputOutput` if a file cannot be read.
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

  /// Counts the rest of a log by the periods of a calendar. Commits are read in place from their blocks.
  ///
  /// - Parameters:
  ///   - isIncluded: whether the log had a commit at the moment of the counts, given its position and its time as the log reports it; a
  ///     prefix of each stream. If nil, the log is counted to its end.
  ///   - isCounted: whether the events of a commit count.
  package init(
    reading log: LogReader, library: String?, by period: Period, of calendar: PeriodCalendar,
    upTo isIncluded: ((CommitPosition, Milliseconds) -> Bool)? = nil,
    where isCounted: (CommitPosition, Milliseconds) -> Bool
  ) throws(HeartlogError) {
    var counter = StatisticsCounter(of: library, by: period, calendar: calendar)
    while let run = try log.nextRun() {
      switch run.commits {
      case .one(let commit):
        guard isIncluded?(commit.position, log.lastTime) ?? true else { continue }
        counter.take(commit, isCounted: isCounted(commit.position, log.lastTime))
      case .several(let block, let indices):
        counter.take(indices, of: block, timeBefore: run.timeBefore, upTo: isIncluded, where: isCounted)
      }
    }
    self = counter.statistics
  }
}

extension FavoritesLibrary {
  /// Counts the library's events by day, week or month of their wall times. Reads the whole log.
  ///
  /// `favoritesAtEnd` is a running sum over the events of the merged log; its last value is the current number of favorites. O(events in
  /// the log).
  ///
  /// - Parameter period: the length of one of `intervals`.
  /// - Throws: `corrupt` if the log is damaged; `inputOutput`.
  public func statistics(by period: Statistics.Period) throws(HeartlogError) -> Statistics {
    let log = try store.readLog()
    let statistics = try Statistics(reading: log, library: name, by: period)
    if let finding = log.findings.first { throw finding.error }
    return statistics
  }
}

extension Statistics.Period {
  private static let dayLength = CivilDate.dayMilliseconds
  /// 1970-01-01 was a Thursday, three days after a Monday.
  private static let weekOffset = 3 * dayLength

  /// The first millisecond of the period that contains a time.
  func start(of time: Milliseconds) -> Milliseconds {
    let day = Self.floor(time, Self.dayLength)
    switch self {
    case .day: return day
    case .week: return Self.floor(time + Self.weekOffset, 7 * Self.dayLength) - Self.weekOffset
    case .month: return day - Int64(CivilDate(time).day - 1) * Self.dayLength
    }
  }

  /// A time up to which all times from `start(of:)` lie in one period. The period may end later.
  func end(from start: Milliseconds) -> Milliseconds {
    switch self {
    case .day: return start + Self.dayLength
    case .week: return start + 7 * Self.dayLength
    case .month:
      // No month is longer than 31 days or shorter than 28.
      let later = start + 31 * Self.dayLength
      return later > Limits.dateMillisecondsMax ? start + 28 * Self.dayLength : self.start(of: later)
    }
  }

  /// The number of periods between the one that begins at `start` and the one that begins at `end`.
  func count(from start: Milliseconds, to end: Milliseconds) -> Int {
    switch self {
    case .day: Int((end - start) / Self.dayLength)
    case .week: Int((end - start) / (7 * Self.dayLength))
    case .month: Self.month(of: end) - Self.month(of: start)
    }
  }

  /// The number of months since the year 0.
  private static func month(of time: Milliseconds) -> Int {
    let date = CivilDate(time)
    return date.year * 12 + date.month
  }

  /// Rounds `time` down to a multiple of `length`. Local times may lie before 1970.
  private static func floor(_ time: Milliseconds, _ length: Milliseconds) -> Milliseconds {
    let rest = time % length
    return time - (rest < 0 ? rest + length : rest)
  }
}

/// Converts between times and local times, for periods of a calendar other than UTC.
package struct PeriodCalendar: Sendable {
  /// The local time at a given time, in milliseconds as if it were UTC.
  package let local: @Sendable (Milliseconds) -> Milliseconds
  /// The first time whose local time is at least the given one.
  package let time: @Sendable (Milliseconds) -> Milliseconds

  /// The calendar of UTC.
  package static let utc = PeriodCalendar(local: { $0 }, time: { $0 })

  package init(
    local: @escaping @Sendable (Milliseconds) -> Milliseconds,
    time: @escaping @Sendable (Milliseconds) -> Milliseconds
  ) {
    self.local = local
    self.time = time
  }
}
