import HeartlogEvents

extension FavoritesState {
  /// For each replica, by id, the highest commit up to which there is no gap. A replica of which only later
  /// commits have come is not there.
  public var heads: [Head] {
    replicas.replicas.filter { $0.head > 0 }
      .map { Head(replica: $0.id, commit: CommitNumber(rawValue: $0.head)) }
      .sorted { $0.replica < $1.replica }
  }

  /// The highest commit of a replica up to which there is no gap; nil where not even its first is here.
  public func head(of replica: ReplicaID) -> CommitNumber? {
    guard let head = replicas.progress(of: replica)?.head, head > 0 else { return nil }
    return CommitNumber(rawValue: head)
  }

  /// Whether a commit of a replica is part of this state.
  public func isApplied(_ replica: ReplicaID, _ number: CommitNumber) -> Bool {
    guard let slot = replicas.slot(of: replica) else { return false }
    return replicas.isApplied(number, of: slot)
  }

  /// Events that were applied and whose content is not here: withheld, or of a later version. The digest covers what is here.
  package var eventsWithoutContent: UInt64 {
    // Only a snapshot that lies has more events of libraries than there are.
    let withContent = tables.reduce(0) { $0 &+ $1.eventCount }
    return eventCount > withContent ? eventCount - withContent : 0
  }

  /// Events of a replica that were applied: withheld and unknown ones count.
  package func eventCount(of replica: ReplicaID) -> UInt64 { replicas.progress(of: replica)?.eventCount ?? 0 }

  /// The highest stamp of a replica's own commits; nil where none was applied.
  package func lastStamp(of replica: ReplicaID) -> HybridTimestamp? {
    replicas.progress(of: replica)?.lastStamp
  }
}
