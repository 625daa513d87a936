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
    let needsReplicas = !names.isEmpty || since?.isEvent == true || until?.isEvent == true
    let directory = needsReplicas ? try ReplicaDirectory(at: directory) : nil
    replicas = try names.isEmpty ? nil : Set(names.flatMap { try directory?.replicas(named: $0) ?? [] })
    if let position = try since?.position(in: directory) {
      isSince = { commit, _ in commit >= position }
    } else {
      let first = since?.first
      isSince = { _, time in first.map { time >= $0 } ?? true }
    }
    if let position = try until?.position(in: directory) {
      isUntil = { commit, _ in commit <= position }
    } else {
      let last = until?.last
      isUntil = { _, time in last.map { time <= $0 } ?? true }
    }
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

/// The replicas of a store, and the positions of its events.
struct ReplicaDirectory {
  private let log: LogReader
  private let path: String

  init(at path: String) throws {
    self.path = path
    log = try LogReader(at: path)
    // The first read finds every stream; names do not need the rest of the log.
    _ = try log.next()
  }

  private var all: [(id: ReplicaID, name: String)] { log.replicas.map { ($0, log.name(of: $0) ?? "") } }

  /// The replicas named `text`, or else the one whose id begins with it.
  func replicas(named text: String) throws(CommandError) -> [ReplicaID] {
    let named = all.filter { $0.name.utf8.elementsEqual(text.utf8) }
    guard named.isEmpty else { return named.map(\.id) }
    return [try Moment.replica(text.lowercased(), among: all)]
  }

  /// The position of an event's commit in the total order.
  func position(ofEvent sequence: SequenceNumber, prefix: String) throws -> CommitPosition {
    let replica = try Moment.replica(prefix, among: all)
    let log = try LogReader(at: path)
    while let commit = try log.next() {
      if commit.contains(EventID(replica: replica, sequence: sequence)) { return commit.position }
    }
    throw CommandError(.no, "the log has no event \(prefix):\(sequence)")
  }
}

extension Moment {
  fileprivate var isEvent: Bool { if case .event = self { true } else { false } }

  fileprivate func position(in directory: ReplicaDirectory?) throws -> CommitPosition? {
    guard case .event(let prefix, let sequence) = self else { return nil }
    return try directory?.position(ofEvent: sequence, prefix: prefix)
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
