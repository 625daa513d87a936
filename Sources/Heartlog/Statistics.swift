/// What happened in a library over time, counted from its log.
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
  }

  /// From the first period with an event to the last one, those without an event too.
  public let intervals: [Interval]
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
    var state = FavoritesState()
    var tallies: [Milliseconds: Tally] = [:]
    while let commit = try log.next() {
      let before = state.counts(of: name).favorites
      state.apply(commit)
      let events = commit.records.compactMap(\.event).filter { $0.library.utf8.elementsEqual(name.utf8) }
      guard !events.isEmpty else { continue }
      var tally = tallies[period.start(of: commit.wallTime), default: Tally()]
      for event in events { tally.count(event.action) }
      tally.gain += state.counts(of: name).favorites - before
      tallies[period.start(of: commit.wallTime)] = tally
    }
    if let finding = log.findings.first { throw HeartlogError(finding.error) }
    return Statistics(intervals: Self.intervals(tallies, period))
  }

  private struct Tally {
    var favorited = 0
    var unfavorited = 0
    var changed = 0
    var gain = 0

    mutating func count(_ action: Action) {
      switch action.isFavorite {
      case true?: favorited += 1
      case false?: unfavorited += 1
      case nil: changed += 1
      }
    }
  }

  private static func intervals(
    _ tallies: [Milliseconds: Tally], _ period: Statistics.Period
  ) -> [Statistics.Interval] {
    guard let first = tallies.keys.min(), let last = tallies.keys.max() else { return [] }
    var intervals: [Statistics.Interval] = []
    var favorites = 0
    var start = first
    while start <= last {
      let tally = tallies[start] ?? Tally()
      favorites += tally.gain
      intervals.append(
        Statistics.Interval(
          start: start, favorited: tally.favorited, unfavorited: tally.unfavorited, changed: tally.changed,
          favoritesAtEnd: favorites))
      start = period.next(after: start)
    }
    return intervals
  }
}

extension Statistics.Period {
  private static let dayLength: Milliseconds = 86_400_000
  /// 1970-01-01 was a Thursday: weeks that begin on Monday are three days off.
  private static let weekOffset = 3 * dayLength

  /// The first millisecond of the period that a time lies in; times are never before 1970.
  func start(of time: Milliseconds) -> Milliseconds {
    switch self {
    case .day: return time - time % Self.dayLength
    case .week: return time - (time + Self.weekOffset) % (7 * Self.dayLength)
    case .month:
      // The text of a time begins with its year and month: its day follows at the eighth character.
      let text = RFC3339.text(time)
      let day = Milliseconds(text.dropFirst(8).prefix(2)) ?? 1
      return time - time % Self.dayLength - (day - 1) * Self.dayLength
    }
  }

  func next(after start: Milliseconds) -> Milliseconds {
    switch self {
    case .day: start + Self.dayLength
    case .week: start + 7 * Self.dayLength
    // No month is longer than 31 days, and none shorter than 28.
    case .month: self.start(of: start + 31 * Self.dayLength)
    }
  }
}
