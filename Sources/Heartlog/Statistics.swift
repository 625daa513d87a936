import HeartlogEngine

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
  package struct ItemTally: Hashable, Sendable {
    /// The item's library.
    package let library: String
    /// The item in its state at the end of the log.
    package let item: ItemState
    /// The number of events that added or removed it.
    package let taps: Int
  }

  /// The number of events that a device wrote under one origin.
  package struct SourceTally: Hashable, Sendable {
    /// The device.
    package let replica: ReplicaID
    /// What wrote the events: `cli`, or an app's name; nil if the commits name none.
    package let origin: String?
    /// The number of events.
    package let events: Int
  }

  /// The periods with at least one event, earliest first. Empty periods are left out, because a single wrong date would add hundreds of
  /// thousands of them.
  public let intervals: [Interval]
  /// The items that were added and removed most often, highest count first; ties are ordered by library and id.
  package let mostTapped: [ItemTally]
  /// The counts by device and origin, highest count first.
  package let sources: [SourceTally]
}

extension Statistics {
  /// The maximum number of items in `mostTapped`.
  package static let mostTappedMax = 5

  /// Counts the rest of a log, from its current position, by periods in UTC.
  ///
  /// Events are assigned to periods by their wall times. `favoritesAtEnd` is a running sum over all events of the merged log, including
  /// those that are not counted; after a whole log, its last value is the current number of favorites. O(events in the log). In a damaged
  /// log, the undamaged commits are counted: see the log's `findings`.
  ///
  /// - Parameters:
  ///   - log: the log to read.
  ///   - library: the library whose events count; all libraries if nil.
  ///   - period: the length of one of `intervals`.
  /// - Throws: `inputOutput` if a file cannot be read.
  package init(
    reading log: LogReader, library: String? = nil, by period: Period
  ) throws(HeartlogError) {
    try self.init(reading: log, library: library, by: period, of: .utc) { _, _ in true }
  }

  /// Counts the rest of a log by the periods of a calendar.
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
    while let commit = try log.next() {
      let time = log.lastTime
      guard isIncluded?(commit.position, time) ?? true else { continue }
      counter.take(commit, isCounted: isCounted(commit.position, time))
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

/// Counts commits in the order in which a log returns them.
struct StatisticsCounter {
  private struct Tally {
    var favorited = 0
    var unfavorited = 0
    var changed = 0
    /// The change in the number of favorites, by all commits, counted or not.
    var gain = 0
    var isCounted = false

    mutating func note(_ isFavorite: Bool?, gain: Int, isCounted: Bool) {
      self.gain += gain
      guard isCounted else { return }
      self.isCounted = true
      switch isFavorite {
      case true?: favorited += 1
      case false?: unfavorited += 1
      case nil: changed += 1
      }
    }
  }

  private struct ItemKey: Hashable {
    let library: UTF8Key
    let id: UTF8Key
  }

  private struct Source: Hashable {
    let replica: ReplicaID
    let origin: String?
  }

  private let library: String?
  private let period: Statistics.Period
  private let calendar: PeriodCalendar
  /// The state after the commits so far.
  private var state = FavoritesState()
  /// The number of favorites of each library in it.
  private var favorites: [UTF8Key: Int] = [:]
  /// By the local start of the period.
  private var tallies: [Milliseconds: Tally] = [:]
  /// How often an item was added or removed.
  private var taps: [ItemKey: Int] = [:]
  private var sources: [Source: Int] = [:]

  init(of library: String?, by period: Statistics.Period, calendar: PeriodCalendar) {
    self.library = library
    self.period = period
    self.calendar = calendar
  }

  mutating func take(_ commit: Commit, isCounted: Bool) {
    state.apply(commit)
    let start = period.start(of: calendar.local(commit.wallTime))
    for record in commit.records {
      guard let event = record.event, library.map({ event.library.hasSameBytes(as: $0) }) ?? true else {
        continue
      }
      count(event, in: start, isCounted: isCounted)
      if isCounted { sources[Source(replica: commit.replica, origin: commit.origin), default: 0] += 1 }
    }
  }

  /// Counts an event that the state has, with all others of its commit.
  private mutating func count(_ event: Event, in start: Milliseconds, isCounted: Bool) {
    let library = UTF8Key(event.library)
    let isFavorite = event.action.isFavorite
    // An event that lost to one before it changes no count: a commit that arrived late may belong before those already counted.
    let now = state.counts(of: event.library).favorites
    let gain = now - (favorites.updateValue(now, forKey: library) ?? 0)
    tallies[start, default: Tally()].note(isFavorite, gain: gain, isCounted: isCounted)
    if isCounted, isFavorite != nil {
      taps[ItemKey(library: library, id: UTF8Key(event.item)), default: 0] += 1
    }
  }

  // MARK: - Results

  var statistics: Statistics {
    Statistics(intervals: intervals, mostTapped: mostTapped, sources: sourceTallies)
  }

  private var intervals: [Statistics.Interval] {
    var intervals: [Statistics.Interval] = []
    var favorites = 0
    var last: Milliseconds?
    for (start, tally) in tallies.sorted(by: { $0.key < $1.key }) {
      favorites += tally.gain
      guard tally.isCounted else { continue }
      intervals.append(
        Statistics.Interval(
          start: calendar.time(start), favorited: tally.favorited, unfavorited: tally.unfavorited,
          changed: tally.changed, favoritesAtEnd: favorites,
          emptyPeriodsBefore: last.map { period.count(from: $0, to: start) - 1 } ?? 0))
      last = start
    }
    return intervals
  }

  private var mostTapped: [Statistics.ItemTally] {
    func precedes(_ a: (key: ItemKey, value: Int), _ b: (key: ItemKey, value: Int)) -> Bool {
      if a.value != b.value { return a.value > b.value }
      if a.key.library != b.key.library { return a.key.library.text.bytesPrecede(b.key.library.text) }
      return a.key.id.text.bytesPrecede(b.key.id.text)
    }
    // The highest counts so far. To sort all of them would take longer than to count them.
    var first: [(key: ItemKey, value: Int)] = []
    for item in taps {
      if first.count == Statistics.mostTappedMax, item.value < first[first.count - 1].value { continue }
      first.insert(item, at: first.firstIndex { precedes(item, $0) } ?? first.count)
      if first.count > Statistics.mostTappedMax { first.removeLast() }
    }
    return first.compactMap { key, taps in
      state.item(key.id.text, in: key.library.text).map {
        Statistics.ItemTally(library: key.library.text, item: $0, taps: taps)
      }
    }
  }

  private var sourceTallies: [Statistics.SourceTally] {
    sources.map { source, events in
      Statistics.SourceTally(replica: source.replica, origin: source.origin, events: events)
    }
    .sorted { a, b in
      if a.events != b.events { return a.events > b.events }
      if a.replica != b.replica { return a.replica < b.replica }
      return (a.origin ?? "").bytesPrecede(b.origin ?? "")
    }
  }
}
