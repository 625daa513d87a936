internal import Heartlog
import HeartlogFormat

/// All commits of a log, in its order, in columns: 40 bytes for each with one event. The slider, its band and the rows of events come from it.
struct History {
  /// What an event does, as the filter of the page names it.
  enum Kind: UInt8, CaseIterable {
    case favorite, remove, change

    init(_ record: EventRecord) {
      self = record.event?.action.isFavorite.map { $0 ? .favorite : .remove } ?? .change
    }
  }

  /// What thins the stops of the slider.
  struct Filter: Hashable {
    var library: String?
    var replica: ReplicaID?
    var kind: Kind?

    var takesAll: Bool { self == Filter() }
  }

  /// A commit that a mark on the band stands for.
  enum Mark: String, CaseIterable {
    case conflict, undo, erasure, sync, loss
  }

  private struct Flags: OptionSet {
    let rawValue: UInt8
    static let isUndo = Flags(rawValue: 1)
    static let isErasure = Flags(rawValue: 2)
    static let isAfterSync = Flags(rawValue: 4)
  }

  /// The commits. The axis is the time of the stamps, which rise along the log whatever the clocks of devices say.
  private var stamps: [HybridTimestamp] = []
  private var times: [Milliseconds] = []
  private var authors: [Int32] = []
  private var numbers: [CommitNumber] = []
  private var firstSequences: [SequenceNumber] = []
  private var flags: [Flags] = []
  /// Where the events of each commit begin.
  private var starts: [Int32] = []
  /// The events.
  private var libraries: [Int32] = []
  private var kinds: [UInt8] = []
  private static let playbackBit: UInt8 = 0x80

  private(set) var replicas: [ReplicaID] = []
  /// The names of devices.
  var names: [ReplicaID: String] = [:]
  private var replicaSlots: [ReplicaID: Int32] = [:]
  /// The commits of each replica, by slot.
  private var commitsOfReplica: [[Int32]] = []
  private var libraryNames: [String] = []
  private var librarySlots: [String: Int32] = [:]
  private var last: CommitPosition?

  /// The stops of filters that were asked for, and up to which commit they were looked for.
  private var stopsOfFilter: [Filter: (stops: [Int32], upTo: Int)] = [:]
  private static let filtersMax = 8

  var count: Int { stamps.count }

  /// Appends a commit. Returns false if it belongs before others: then everything is read again.
  mutating func append(_ commit: Commit, isPlayback: (Event) -> Bool) -> Bool {
    if let last, commit.position < last { return false }
    last = commit.position
    let slot = slot(of: commit.replica)
    var flags: Flags = []
    if commit.origin == InspectedStore.undoOrigin { flags.insert(.isUndo) }
    if !commit.heads.isEmpty { flags.insert(.isAfterSync) }
    commitsOfReplica[Int(slot)].append(Int32(count))
    starts.append(Int32(kinds.count))
    for record in commit.records {
      if record.erasedEvents != nil { flags.insert(.isErasure) }
      libraries.append(record.event.map { self.slot(ofLibrary: $0.library) } ?? -1)
      let isPlayed = record.event.map { $0.action == .changed && isPlayback($0) } ?? false
      kinds.append(Kind(record).rawValue | (isPlayed ? Self.playbackBit : 0))
    }
    stamps.append(commit.stamp)
    times.append(commit.wallTime)
    authors.append(slot)
    numbers.append(commit.number)
    firstSequences.append(commit.firstSequence)
    self.flags.append(flags)
    return true
  }

  private mutating func slot(of replica: ReplicaID) -> Int32 {
    if let slot = replicaSlots[replica] { return slot }
    let slot = Int32(replicas.count)
    replicas.append(replica)
    commitsOfReplica.append([])
    replicaSlots[replica] = slot
    return slot
  }

  private mutating func slot(ofLibrary name: String) -> Int32 {
    if let slot = librarySlots[name] { return slot }
    let slot = Int32(libraryNames.count)
    libraryNames.append(name)
    librarySlots[name] = slot
    return slot
  }

  private func events(of commit: Int) -> Range<Int> {
    Int(starts[commit])..<(commit + 1 < count ? Int(starts[commit + 1]) : kinds.count)
  }
}

// MARK: - Stops

extension History {
  /// A stop of the slider: a commit that the filter takes, or what is before the first.
  struct Stop {
    /// From 1 on; 0 before the first.
    let index: Int
    let count: Int
    let commit: Int?
  }

  /// What names a stop.
  enum Place {
    case index(Int)
    case axis(Milliseconds)
    case commit(ReplicaID, CommitNumber)
  }

  /// A filter with its names looked up.
  private struct Matcher {
    let library: Int32?
    let author: Int32?
    let kind: UInt8?

    init(_ filter: Filter, in history: History) {
      // A name that is in no event matches none.
      library = filter.library.map { history.librarySlots[$0] ?? .max }
      author = filter.replica.map { history.replicaSlots[$0] ?? .max }
      kind = filter.kind?.rawValue
    }
  }

  private func takes(_ event: Int, of commit: Int, _ matcher: Matcher) -> Bool {
    (matcher.author.map { $0 == authors[commit] } ?? true)
      && (matcher.library.map { $0 == libraries[event] } ?? true)
      && (matcher.kind.map { $0 == kinds[event] & ~Self.playbackBit } ?? true)
  }

  /// The commits that a filter takes.
  private struct Stops {
    /// nil for all.
    let taken: [Int32]?
    let count: Int

    subscript(index: Int) -> Int { taken.map { Int($0[index]) } ?? index }

    /// How many stops are not after a commit.
    func count(upTo commit: Int) -> Int { (0..<count).partitionPoint { self[$0] > commit } }
  }

  private mutating func stops(_ filter: Filter) -> Stops {
    if filter.takesAll { return Stops(taken: nil, count: count) }
    var (stops, upTo) = stopsOfFilter.removeValue(forKey: filter) ?? ([], 0)
    if stopsOfFilter.count >= Self.filtersMax { stopsOfFilter.removeAll() }
    let matcher = Matcher(filter, in: self)
    while upTo < count {
      if events(of: upTo).contains(where: { takes($0, of: upTo, matcher) }) { stops.append(Int32(upTo)) }
      upTo += 1
    }
    stopsOfFilter[filter] = (stops, upTo)
    return Stops(taken: stops, count: stops.count)
  }

  /// nil if the log has no such commit.
  mutating func stop(_ place: Place, _ filter: Filter) -> Stop? {
    let stops = stops(filter)
    let index: Int
    switch place {
    case .index(let wanted): index = max(0, min(stops.count, wanted))
    case .axis(let last): index = (0..<stops.count).partitionPoint { axis(stops[$0]) > last }
    case .commit(let replica, let number):
      guard let found = commit(number, of: replica) else { return nil }
      index = stops.count(upTo: found)
    }
    return Stop(index: index, count: stops.count, commit: index == 0 ? nil : stops[index - 1])
  }

  private func commit(_ number: CommitNumber, of replica: ReplicaID) -> Int? {
    guard let slot = replicaSlots[replica] else { return nil }
    let commits = commitsOfReplica[Int(slot)]
    let place = commits.partitionPoint { numbers[Int($0)] >= number }
    return place < commits.count && numbers[Int(commits[place])] == number ? Int(commits[place]) : nil
  }

  /// The commit of an event.
  func commit(of event: EventID) -> Int? {
    guard let slot = replicaSlots[event.replica] else { return nil }
    let commits = commitsOfReplica[Int(slot)]
    let place = commits.partitionPoint { firstSequences[Int($0)] > event.sequence }
    guard place > 0 else { return nil }
    let commit = Int(commits[place - 1])
    // The log may be read up to here only.
    return event.sequence.rawValue - firstSequences[commit].rawValue < UInt64(events(of: commit).count)
      ? commit : nil
  }

  /// The last commit of a replica before the damage that a finding names.
  func commit(before finding: Finding) -> Int? {
    guard let slot = replicaSlots[finding.replica] else { return nil }
    let commits = commitsOfReplica[Int(slot)]
    guard let lost = finding.error.commits?.lowerBound else { return commits.last.map(Int.init) }
    let place = commits.partitionPoint { numbers[Int($0)] >= lost }
    return place == 0 ? commits.first.map(Int.init) : Int(commits[place - 1])
  }

  func stamp(_ commit: Int) -> HybridTimestamp { stamps[commit] }
  func axis(_ commit: Int) -> Milliseconds { stamps[commit].milliseconds }
  func time(_ commit: Int) -> Milliseconds { times[commit] }
  func replica(_ commit: Int) -> ReplicaID { replicas[Int(authors[commit])] }
  func number(_ commit: Int) -> CommitNumber { numbers[commit] }
}

// MARK: - The band

extension History {
  struct Band {
    let count: Int
    let first: Milliseconds
    let last: Milliseconds
    /// Events by bin and replica.
    let bins: [[Int]]
    let marks: [(kind: Mark, index: Int, commit: Int, count: Int)]
  }

  private static let markBucketsMax = 80

  /// - Parameters:
  ///   - span: The part of the axis to show; all stops if nil.
  ///   - marked: Commits with marks that they do not carry themselves.
  mutating func band(
    bins binCount: Int, _ span: ClosedRange<Milliseconds>?, _ filter: Filter,
    marked: [(kind: Mark, commit: Int)]
  ) -> Band {
    let stops = stops(filter)
    guard stops.count > 0 else { return Band(count: 0, first: 0, last: 0, bins: [], marks: []) }
    let (first, last) = (axis(stops[0]), axis(stops[stops.count - 1]))
    let shown = span.map { $0.clamped(to: first...last) } ?? first...last
    let width = max(1, shown.upperBound - shown.lowerBound)
    func place(_ axis: Milliseconds, of buckets: Int) -> Int {
      min(buckets - 1, Int(Double(axis - shown.lowerBound) / Double(width) * Double(buckets)))
    }
    var bins = [[Int]](repeating: [Int](repeating: 0, count: replicas.count), count: binCount)
    var marks: [Int: (kind: Mark, index: Int, commit: Int, count: Int)] = [:]
    func mark(_ kind: Mark, _ index: Int, _ commit: Int) {
      let bucket =
        place(axis(commit), of: Self.markBucketsMax) * 8 + (Mark.allCases.firstIndex(of: kind) ?? 0)
      marks[bucket] = (kind, index, commit, (marks[bucket]?.count ?? 0) + 1)
    }
    let matcher = Matcher(filter, in: self)
    let start = (0..<stops.count).partitionPoint { axis(stops[$0]) >= shown.lowerBound }
    for index in start..<stops.count {
      let commit = stops[index]
      let axis = self.axis(commit)
      if axis > shown.upperBound { break }
      let events = events(of: commit)
      bins[place(axis, of: binCount)][Int(authors[commit])] +=
        filter.takesAll ? events.count : events.count { takes($0, of: commit, matcher) }
      for kind in self.marks(of: commit) { mark(kind, index + 1, commit) }
    }
    for (kind, commit) in marked where shown.contains(axis(commit)) {
      let index = stops.count(upTo: commit)
      guard index > 0, stops[index - 1] == commit else { continue }
      mark(kind, index, commit)
    }
    return Band(
      count: stops.count, first: first, last: last, bins: bins,
      marks: marks.values.sorted { ($0.commit, $0.kind.rawValue) < ($1.commit, $1.kind.rawValue) })
  }
}

// MARK: - Marks

extension History {
  private func marks(of commit: Int) -> [Mark] {
    let flags = flags[commit]
    guard !flags.isEmpty else { return [] }
    return [(Flags.isUndo, Mark.undo), (.isErasure, .erasure), (.isAfterSync, .sync)].filter {
      flags.contains($0.0)
    }.map(\.1)
  }

  /// Those that commits carry themselves.
  var marks: [(kind: Mark, commit: Int)] {
    (0..<count).flatMap { commit in marks(of: commit).map { ($0, commit) } }
  }
}

// MARK: - Rows of events

extension History {
  /// A row of the list of events.
  enum Row {
    /// An event of a commit, by its place in it.
    case event(commit: Int, Int)
    /// Some playback positions in a row, and the commit of the newest.
    case folded(Int, commit: Int)
  }

  /// The last rows up to a commit, oldest first.
  ///
  /// - Parameter showsPlayback: Whether events that only write playback positions have rows of their own.
  func rows(upTo commit: Int, _ rowsMax: Int, _ filter: Filter, showsPlayback: Bool) -> [Row] {
    let matcher = Matcher(filter, in: self)
    var rows: [Row] = []
    for commit in (0...commit).reversed() {
      let events = events(of: commit)
      for event in events.reversed() where takes(event, of: commit, matcher) {
        if !showsPlayback, kinds[event] & Self.playbackBit != 0 {
          if case .folded(let count, let newest)? = rows.last {
            rows[rows.count - 1] = .folded(count + 1, commit: newest)
            continue
          }
          if rows.count == rowsMax { return rows.reversed() }
          rows.append(.folded(1, commit: commit))
        } else {
          if rows.count == rowsMax { return rows.reversed() }
          rows.append(.event(commit: commit, event - events.lowerBound))
        }
      }
    }
    return rows.reversed()
  }
}
