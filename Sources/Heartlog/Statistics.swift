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

/// Counts commits in the order in which a log returns them.
///
/// Only the counted parts of an event are decoded. The state provides the names of items, and the final states of the items that were added
/// and removed most often.
struct StatisticsCounter {
  private struct Tally {
    let start: Milliseconds
    var favorited = 0
    var unfavorited = 0
    var changed = 0
    /// The change in the number of favorites, by all commits, counted or not.
    var gain = 0
    var isCounted = false
  }

  /// The counts of one item.
  private struct Item {
    /// How often it was added or removed.
    var taps = 0
    var isFavorite = false
    /// The stamp of the last write of its membership, in the total order.
    var stamp = HybridTimestamp(rawValue: 0)
    var sequence: UInt64 = 0
    /// Its replica's index in `replicas`; -1 before the first write.
    var replica: Int32 = -1
  }

  private struct Source: Hashable {
    let replica: ReplicaID
    let origin: String?
  }

  /// The parts of a commit that all its writes share, and the sequence number of the current one.
  private struct Write {
    let stamp: HybridTimestamp
    var sequence: UInt64
    let replica: Int32
    let isCounted: Bool
  }

  /// How far the events of a block were counted.
  private final class Cursor {
    let block: MergedBlock
    /// The locations of the block's items.
    let locations: [ItemLocation]
    /// The end of the commits that are included.
    let end: Int
    /// The next index into the block's `itemIndices`.
    var item: Int
    /// Indices into `sources`, by the block's origin index; -1 if not looked up yet.
    var sources: [Int]

    init(_ block: MergedBlock, upTo end: Int, _ locations: [ItemLocation], item: Int) {
      self.block = block
      self.end = end
      self.locations = locations
      self.item = item
      sources = [Int](repeating: -1, count: block.content.columns.commits.origins.count + 1)
    }
  }

  private let library: String?
  private let period: Statistics.Period
  private let calendar: PeriodCalendar
  private var state = FavoritesState()
  /// Nil until the library is first met.
  private var libraryNumber: Int32?
  private var tallies: [Tally] = []
  /// Indices into `tallies`, by the local start of the period.
  private var tallyIndices: [Milliseconds: Int] = [:]
  /// The index looked up last, and local times that lie in its period.
  private var lastTally = (index: 0, times: Milliseconds(0)..<0)
  /// By library number and item number, as the state assigns them.
  private var items: [[Item]] = []
  private var replicas: [ReplicaID] = []
  private var sources: [(source: Source, events: Int)] = []
  private var sourceIndices: [Source: Int] = [:]
  /// By replica.
  private var cursors: [ReplicaID: Cursor] = [:]

  init(of library: String?, by period: Statistics.Period, calendar: PeriodCalendar) {
    self.library = library
    self.period = period
    self.calendar = calendar
  }

  // MARK: - Counting

  mutating func take(_ commit: Commit, isCounted: Bool) {
    state.apply(commit)
    noteLibrary()
    var write = Write(
      stamp: commit.stamp, sequence: commit.firstSequence.rawValue, replica: number(of: commit.replica),
      isCounted: isCounted)
    var count = 0
    var tally = -1
    for record in commit.records {
      if let event = record.event, let location = state.location(of: event.item, in: event.library),
        isOfLibrary(location)
      {
        if count == 0 { tally = tallyIndex(at: commit.wallTime) }
        makeRoom(for: location)
        self.count(event.action.isFavorite, of: location, write, in: tally)
        count += 1
      }
      write.sequence += 1
    }
    guard isCounted, count > 0 else { return }
    sources[sourceIndex(Source(replica: commit.replica, origin: commit.origin))].events += count
  }

  /// Counts adjacent commits of a block, up to the first that is not included. Calls for one block must go forward.
  mutating func take(
    _ indices: Range<Int>, of block: MergedBlock, timeBefore: Milliseconds,
    upTo isIncluded: ((CommitPosition, Milliseconds) -> Bool)?,
    where isCounted: (CommitPosition, Milliseconds) -> Bool
  ) {
    let content = block.content
    let columns = content.columns
    let commits = columns.commits
    guard let cursor = cursor(of: block, at: indices.lowerBound, timeBefore, upTo: isIncluded) else { return }
    let replica = number(of: content.replica)
    var time = timeBefore
    var sequence = content.sequence(at: indices.lowerBound).rawValue
    for index in indices.clamped(to: indices.lowerBound..<max(indices.lowerBound, cursor.end)) {
      let wallTime = commits.wallTimes[index]
      time = max(time, wallTime)
      var write = Write(
        stamp: commits.stamps[index], sequence: sequence, replica: replica,
        isCounted: isCounted(content.position(at: index), time))
      var count = 0
      var tally = -1
      for event in Int(commits.eventStarts[index])..<Int(commits.eventStarts[index + 1]) {
        let kind = columns.kinds[event]
        if kind.isEvent {
          let location = cursor.locations[Int(columns.itemIndices[cursor.item])]
          cursor.item += 1
          if isOfLibrary(location) {
            if count == 0 { tally = tallyIndex(at: wallTime) }
            self.count(kind.membership, of: location, write, in: tally)
            count += 1
          }
        }
        write.sequence += 1
      }
      sequence = write.sequence
      if write.isCounted, count > 0 {
        let origin = Int(commits.originIndices[index])
        if cursor.sources[origin] < 0 {
          cursor.sources[origin] = sourceIndex(
            Source(replica: content.replica, origin: commits.origin(at: index)))
        }
        sources[cursor.sources[origin]].events += count
      }
    }
  }

  /// Counts an event.
  private mutating func count(
    _ isFavorite: Bool?, of location: ItemLocation, _ write: Write, in tally: Int
  ) {
    if write.isCounted { tallies[tally].isCounted = true }
    guard let isFavorite else {
      if write.isCounted { tallies[tally].changed += 1 }
      return
    }
    let (library, index) = (Int(location.library), Int(location.item))
    if isLater(write, than: items[library][index]) {
      if items[library][index].isFavorite != isFavorite { tallies[tally].gain += isFavorite ? 1 : -1 }
      items[library][index].isFavorite = isFavorite
      items[library][index].stamp = write.stamp
      items[library][index].sequence = write.sequence
      items[library][index].replica = write.replica
    }
    guard write.isCounted else { return }
    items[library][index].taps += 1
    if isFavorite { tallies[tally].favorited += 1 } else { tallies[tally].unfavorited += 1 }
  }

  /// Returns whether a write comes later in the total order. A log is in order only up to what it contained at one time; commits that
  /// arrive later may belong before those already counted.
  private func isLater(_ write: Write, than item: Item) -> Bool {
    if item.replica < 0 { return true }
    return MergeOrder.isLater(
      stamps: (write.stamp.rawValue, than: item.stamp.rawValue),
      numbers: (write.sequence, than: item.sequence),
      isSameReplica: write.replica == item.replica
    ) { (replicas[Int(write.replica)], than: replicas[Int(item.replica)]) }
  }

  // MARK: - Indices and cursors

  private func isOfLibrary(_ location: ItemLocation) -> Bool {
    library == nil || libraryNumber == location.library
  }

  private mutating func noteLibrary() {
    if libraryNumber == nil, let library { libraryNumber = state.number(ofLibrary: library) }
  }

  /// Returns the cursor of a block whose next commit is at `index`; nil if that is not included. Applies what is included of a block to the
  /// state on first use.
  private mutating func cursor(
    of block: MergedBlock, at index: Int, _ timeBefore: Milliseconds,
    upTo isIncluded: ((CommitPosition, Milliseconds) -> Bool)?
  ) -> Cursor? {
    let content = block.content
    if let known = cursors[content.replica], known.block === block { return known }
    var end = content.commitIndices.upperBound
    if let isIncluded {
      var time = timeBefore
      let wallTimes = content.columns.commits.wallTimes
      let first = (index..<end).first { index in
        time = max(time, wallTimes[index])
        return !isIncluded(content.position(at: index), time)
      }
      end = first ?? end
    }
    guard end > index else { return nil }
    // If part of the log was read before, only the rest counts.
    let rest = content.cut(to: content.number(at: index)...content.number(at: end - 1))
    state.apply(rest)
    noteLibrary()
    let locations = state.locations(of: rest)
    for location in locations where location.library >= 0 { makeRoom(for: location) }
    let cursor = Cursor(block, upTo: end, locations, item: rest.start.item)
    cursors[content.replica] = cursor
    return cursor
  }

  private mutating func makeRoom(for location: ItemLocation) {
    while items.count <= Int(location.library) { items.append([]) }
    let missing = Int(location.item) + 1 - items[Int(location.library)].count
    if missing > 0 { items[Int(location.library)].append(contentsOf: repeatElement(Item(), count: missing)) }
  }

  private mutating func number(of replica: ReplicaID) -> Int32 {
    if let known = replicas.firstIndex(of: replica) { return Int32(known) }
    replicas.append(replica)
    return Int32(replicas.count - 1)
  }

  private mutating func sourceIndex(_ source: Source) -> Int {
    if let known = sourceIndices[source] { return known }
    sourceIndices[source] = sources.count
    sources.append((source, 0))
    return sources.count - 1
  }

  private mutating func tallyIndex(at wallTime: Milliseconds) -> Int {
    let local = calendar.local(wallTime)
    if lastTally.times.contains(local) { return lastTally.index }
    let start = period.start(of: local)
    var index = tallies.count
    if let known = tallyIndices[start] {
      index = known
    } else {
      tallies.append(Tally(start: start))
      tallyIndices[start] = index
    }
    lastTally = (index, start..<period.end(from: start))
    return index
  }

  // MARK: - Results

  var statistics: Statistics {
    Statistics(intervals: intervals, mostTapped: mostTapped, sources: sourceTallies)
  }

  private var intervals: [Statistics.Interval] {
    var intervals: [Statistics.Interval] = []
    var favorites = 0
    var last: Milliseconds?
    for tally in tallies.sorted(by: { $0.start < $1.start }) {
      favorites += tally.gain
      guard tally.isCounted else { continue }
      intervals.append(
        Statistics.Interval(
          start: calendar.time(tally.start), favorited: tally.favorited, unfavorited: tally.unfavorited,
          changed: tally.changed, favoritesAtEnd: favorites,
          emptyPeriodsBefore: last.map { period.count(from: $0, to: tally.start) - 1 } ?? 0))
      last = tally.start
    }
    return intervals
  }

  private var mostTapped: [Statistics.ItemTally] {
    typealias Tapped = (taps: Int, library: String, id: String)
    func precedes(_ a: Tapped, _ b: Tapped) -> Bool {
      if a.taps != b.taps { return a.taps > b.taps }
      if a.library != b.library { return a.library < b.library }
      return a.id.bytesPrecede(b.id)
    }
    // The highest counts so far.
    var first: [Tapped] = []
    for library in items.indices where !items[library].isEmpty {
      let name = state.libraryName(Int32(library))
      for (index, item) in items[library].enumerated() where item.taps > 0 {
        if first.count == Statistics.mostTappedMax, item.taps < first[first.count - 1].taps { continue }
        let id = state.id(at: ItemLocation(library: Int32(library), item: Int32(index)))
        let tapped = (item.taps, name, id)
        first.insert(tapped, at: first.firstIndex { precedes(tapped, $0) } ?? first.count)
        if first.count > Statistics.mostTappedMax { first.removeLast() }
      }
    }
    return first.compactMap { taps, library, id in
      state.item(id, in: library).map { Statistics.ItemTally(library: library, item: $0, taps: taps) }
    }
  }

  private var sourceTallies: [Statistics.SourceTally] {
    sources.map {
      Statistics.SourceTally(replica: $0.source.replica, origin: $0.source.origin, events: $0.events)
    }
    .sorted { a, b in
      if a.events != b.events { return a.events > b.events }
      if a.replica != b.replica { return a.replica < b.replica }
      return (a.origin ?? "").bytesPrecede(b.origin ?? "")
    }
  }
}
