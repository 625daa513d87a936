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
    /// How far the stamps of this replica run ahead of this machine's clock, in seconds; 0 where they do not.
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
    var names = Dictionary(uniqueKeysWithValues: log.streams.map { ($0.replica, $0.name) })
    names[own.replica] = own.name
    let replicas = Set(names.keys).union(state.heads.map(\.replica)).sorted().map { replica in
      let ahead = (state.lastStamp(of: replica)?.milliseconds ?? 0) - now
      return StoreStatus.Replica(
        id: replica, name: names[replica] ?? "", head: state.head(of: replica)?.rawValue ?? 0,
        events: state.eventCount(of: replica), wallClockAheadSeconds: Double(max(0, ahead)) / 1_000)
    }
    return StoreStatus(
      path: path, replica: own.replica, name: own.name, digest: state.digest, events: state.eventCount,
      eventsWithoutContent: state.eventsWithoutContent, commits: state.commitCount,
      bytes: try heartlogErrors { try log.logBytes() },
      conflicts: state.conflicts.count, replicas: replicas,
      libraries: state.libraries.map { StoreStatus.Library(name: $0, counts: state.counts(of: $0)) })
  }
}
