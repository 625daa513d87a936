import HeartlogStorage

/// What a store holds, in numbers.
public struct StoreStatus: Sendable {
  /// One replica whose commits the store holds.
  public struct Replica: Sendable {
    /// The identity that its events carry.
    public let id: ReplicaID
    /// What people call it; empty where nobody named it.
    public let name: String
    /// The number of the last commit; 0 before the first.
    public let head: UInt64
    /// How many events it has written.
    public let events: UInt64
    /// How far this replica's clock was ahead of this machine's at its last commit, in seconds; 0 where it was not known to be.
    public let wallClockAheadSeconds: Double
  }

  /// One library of the store.
  public struct Library: Sendable {
    /// As it is asked for.
    public let name: String
    /// How many favorites, items and events it has.
    public let counts: LibraryCounts
  }

  /// The folder of the store, as it was given.
  public let path: String
  /// The replica that writes here.
  public let replica: ReplicaID
  /// What people call that replica.
  public let name: String
  /// A digest of all that is visible: equal states have equal digests, on any machine.
  public let digest: Digest
  /// How many events there are, of all replicas.
  public let events: UInt64
  /// How many of them are here without their content: withheld, or of a later version. The digest covers the others, so that a store with
  /// the same history and more content has another one.
  public let eventsWithoutContent: UInt64
  /// How many commits there are, of all replicas.
  public let commits: UInt64
  /// Of the log on disk.
  public let bytes: UInt64
  /// How many open conflicts there are.
  public let conflicts: Int
  /// Sorted by id.
  public let replicas: [Replica]
  /// Sorted by name.
  public let libraries: [Library]
}

extension FavoritesStore {
  /// What the store holds; of another state of it, where one is given. One pass over all items, for the digest.
  ///
  /// - Throws: `inputOutput` where the size of the log cannot be found out.
  public func status(of state: FavoritesState? = nil) throws(HeartlogError) -> StoreStatus {
    let state = state ?? read { $0 }
    let own = log.ownIdentity
    let now = options.clock()
    let streams = Dictionary(uniqueKeysWithValues: log.streams.map { ($0.replica, $0) })
    let known = Set(streams.keys).union([own.replica]).union(state.heads.map(\.replica))
    let replicas = known.sorted().map { replica in
      StoreStatus.Replica(
        id: replica, name: replica == own.replica ? own.name : streams[replica]?.name ?? "",
        head: state.head(of: replica)?.rawValue ?? 0, events: state.eventCount(of: replica),
        wallClockAheadSeconds: streams[replica]?.secondsAhead(of: now) ?? 0)
    }
    return StoreStatus(
      path: path, replica: own.replica, name: own.name, digest: state.digest, events: state.eventCount,
      eventsWithoutContent: state.eventsWithoutContent, commits: state.commitCount,
      bytes: try heartlogErrors { try log.logBytes() },
      conflicts: state.conflicts.count, replicas: replicas,
      libraries: state.libraries.map { StoreStatus.Library(name: $0, counts: state.counts(of: $0)) })
  }
}
