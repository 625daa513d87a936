/// Counts commits as they come out of a log, in its order.
struct StatisticsCounter {
  private struct Tally {
    var favorited = 0
    var unfavorited = 0
    var changed = 0
    /// How many favorites more there are: of all commits, counted or not.
    var gain = 0
    var isCounted = false

    mutating func count(_ action: Action) {
      isCounted = true
      switch action.isFavorite {
      case true?: favorited += 1
      case false?: unfavorited += 1
      case nil: changed += 1
      }
    }
  }

  private struct ItemKey: Hashable {
    let library: String
    /// Ids are equal where their bytes are.
    let id: [UInt8]

    init(_ event: Event) {
      library = event.library
      id = Array(event.item.utf8)
    }
  }

  private struct Source: Hashable {
    let replica: ReplicaID
    let origin: String?
  }

  private let library: String?
  private let period: Statistics.Period
  private let calendar: PeriodCalendar
  private var state = FavoritesState()
  /// By the local start of the period.
  private var tallies: [Milliseconds: Tally] = [:]
  private var taps: [ItemKey: Int] = [:]
  private var events: [Source: Int] = [:]

  init(of library: String?, by period: Statistics.Period, calendar: PeriodCalendar) {
    self.library = library
    self.period = period
    self.calendar = calendar
  }

  mutating func take(_ commit: Commit, isCounted: Bool) {
    let events = commit.records.compactMap(\.event).filter { event in
      library.map { event.library.utf8.elementsEqual($0.utf8) } ?? true
    }
    let libraries = Set(events.map(\.library))
    let before = favoriteCount(libraries)
    state.apply(commit)
    guard !events.isEmpty else { return }
    let start = period.start(of: calendar.local(commit.wallTime))
    var tally = tallies[start, default: Tally()]
    tally.gain += favoriteCount(libraries) - before
    if isCounted {
      for event in events {
        tally.count(event.action)
        if event.action.isFavorite != nil { taps[ItemKey(event), default: 0] += 1 }
      }
      self.events[Source(replica: commit.replica, origin: commit.origin), default: 0] += events.count
    }
    tallies[start] = tally
  }

  private func favoriteCount(_ libraries: Set<String>) -> Int {
    libraries.reduce(0) { $0 + state.counts(of: $1).favorites }
  }

  var statistics: Statistics {
    Statistics(intervals: intervals, mostTapped: mostTapped, sources: sources)
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
    let sorted = taps.sorted { a, b in
      if a.value != b.value { return a.value > b.value }
      if a.key.library != b.key.library { return a.key.library < b.key.library }
      return a.key.id.lexicographicallyPrecedes(b.key.id)
    }
    return sorted.prefix(Statistics.mostTappedMax).compactMap { key, taps in
      state.item(String(decoding: key.id, as: UTF8.self), in: key.library)
        .map { Statistics.ItemTally(library: key.library, item: $0, taps: taps) }
    }
  }

  private var sources: [Statistics.SourceTally] {
    events.map { Statistics.SourceTally(replica: $0.key.replica, origin: $0.key.origin, events: $0.value) }
      .sorted { a, b in
        if a.events != b.events { return a.events > b.events }
        if a.replica != b.replica { return a.replica < b.replica }
        return (a.origin ?? "").utf8.lexicographicallyPrecedes((b.origin ?? "").utf8)
      }
  }
}
