import Heartlog

/// Selects the events that `log` shows: times by wall times, as they are shown, and events by the order of the log.
struct EventFilter {
  private let library: String?
  private let item: String?
  private let replicas: Set<ReplicaID>?
  private let isSince: (CommitPosition, Milliseconds) -> Bool
  private let isUntil: (CommitPosition, Milliseconds) -> Bool

  /// - Parameter directory: the store in which names of replicas and events are looked up.
  init(
    library: String?, item: String?, replicas names: [String], since: Moment?, until: Moment?,
    store directory: String
  ) throws {
    self.library = library
    self.item = item
    let needsReplicas = !names.isEmpty || [since, until].contains { $0 != nil && $0?.last == nil }
    let directory = needsReplicas ? try ReplicaDirectory(at: directory) : nil
    replicas = try names.isEmpty ? nil : Set(names.flatMap { try directory?.replicas(named: $0) ?? [] })
    if let position = try since.flatMap({ try directory?.position(of: $0) }) {
      isSince = { commit, _ in commit >= position }
    } else {
      let first = since?.first
      isSince = { _, time in first.map { time >= $0 } ?? true }
    }
    isUntil = try until.map { try Self.bound(until: $0, in: directory) } ?? { _, _ in true }
  }

  /// Whether a commit, given its position in the order of all commits and its time in the log, is within a moment.
  static func bound(
    until moment: Moment, in directory: ReplicaDirectory?
  ) throws -> (CommitPosition, Milliseconds) -> Bool {
    if let last = moment.last { return { _, time in time <= last } }
    guard let position = try directory?.position(of: moment) else { return { _, _ in false } }
    return { commit, _ in commit <= position }
  }

  /// Whether any event of a commit may be shown.
  ///
  /// - Parameters:
  ///   - commit: its position in the order of all commits.
  ///   - time: the time of the commit in the log.
  func takes(_ commit: CommitPosition, at time: Milliseconds) -> Bool {
    isSince(commit, time) && isUntil(commit, time) && replicas?.contains(commit.replica) ?? true
  }

  /// The only item whose events are shown; nil if there are others.
  var onlyItem: (library: String, id: String)? {
    guard let library, let item else { return nil }
    return (library, item)
  }

  func takes(_ record: EventRecord) -> Bool {
    guard let library else { return true }
    guard let event = record.event else { return false }
    return event.library == library && (item.map { event.item.utf8.elementsEqual($0.utf8) } ?? true)
  }
}

/// The replicas of a store, and the positions of its commits.
struct ReplicaDirectory {
  private let log: LogReader

  init(at path: String) throws {
    log = try LogReader(at: path)
    // The first read finds every stream; names do not need the rest of the log.
    _ = try log.next()
  }

  var count: Int { log.replicas.count }

  private var all: [(id: ReplicaID, name: String)] { log.replicas.map { ($0, log.name(of: $0) ?? "") } }

  /// The replicas named `text`, or else the one whose id begins with it.
  func replicas(named text: String) throws(CommandError) -> [ReplicaID] {
    let named = all.filter { $0.name.utf8.elementsEqual(text.utf8) }
    guard named.isEmpty else { return named.map(\.id) }
    return [try Moment.replica(text.lowercased(), among: all)]
  }

  /// A moment with the full id of its replica.
  func resolved(_ moment: Moment) throws(CommandError) -> PastMoment {
    PastMoment(given: moment, inLog: try moment.resolved(among: all))
  }

  /// The position in the total order of the commit that a moment names; nil for a time.
  func position(of moment: Moment) throws -> CommitPosition? {
    let moment = try resolved(moment).inLog
    if let position = try log.position(of: moment) { return position }
    if let absence = moment.absence { throw absence }
    return nil
  }
}

extension LogReader {
  /// Calls `body` with the events that exist now and that `filter` takes, in order.
  func forEachEvent(where filter: EventFilter, _ body: (EventLine) throws -> Void) throws {
    try forEachCommit(of: filter.onlyItem, where: filter.takes) { commit in
      for line in EventLine.all(of: commit) where filter.takes(line.record) { try body(line) }
    }
  }
}
