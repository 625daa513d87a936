import HeartlogFormat

extension FavoritesState {
  /// For each replica, its last commit before any gap, sorted by replica. A replica whose first commit is missing is left out.
  public var heads: [Head] {
    replicas.replicas.filter { $0.head > 0 }
      .map { Head(replica: $0.id, commit: CommitNumber(rawValue: $0.head)) }
      .sorted { $0.replica < $1.replica }
  }

  /// Returns a replica's last commit before any gap; nil if its first commit is missing.
  public func head(of replica: ReplicaID) -> CommitNumber? {
    guard let head = replicas.progress(of: replica)?.head, head > 0 else { return nil }
    return CommitNumber(rawValue: head)
  }

  /// Returns whether a commit of a replica is part of this state.
  public func isApplied(_ replica: ReplicaID, _ number: CommitNumber) -> Bool {
    guard let slot = replicas.slot(of: replica) else { return false }
    return replicas.isApplied(number, of: slot)
  }

  /// Returns the number of the commit that contains an event; nil if it is not before any gap of its stream.
  package func commit(of event: EventID) -> CommitNumber? {
    guard let numbers = replicas.progress(of: event.replica)?.commitNumbers,
      event.sequence.rawValue >= 1, event.sequence.rawValue < numbers.next.sequence
    else { return nil }
    return CommitNumber(rawValue: numbers.commit(of: event.sequence.rawValue))
  }

  /// The number of applied events without content: withheld, or written by a later version. The digest does not cover them.
  package var eventsWithoutContent: UInt64 {
    // Only in a malformed snapshot do the libraries have more events than the state.
    let erasing = erasingCommits.reduce(0) { $0 &+ UInt64($1.erasures.count) }
    let withContent = tables.reduce(erasing) { $0 &+ $1.eventCount }
    return eventCount > withContent ? eventCount - withContent : 0
  }

  /// Returns the number of a replica's applied events, including withheld and unknown ones.
  package func eventCount(of replica: ReplicaID) -> UInt64 { replicas.progress(of: replica)?.eventCount ?? 0 }

  /// Returns the highest stamp of a replica's own commits; nil if none was applied.
  package func lastStamp(of replica: ReplicaID) -> HybridTimestamp? {
    replicas.progress(of: replica)?.lastStamp
  }
}
