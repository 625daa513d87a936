import HeartlogStorage

/// The contents of a store, in numbers.
public struct StoreStatus: Sendable {
  /// A replica with commits in the store.
  public struct Replica: Sendable {
    /// The identity that its events carry.
    public let id: ReplicaID
    /// Its display name; empty if it has none.
    public let name: String
    /// The number of its last commit in this store; 0 before the first.
    public let head: UInt64
    /// The number of its events in this store.
    public let events: UInt64
    /// How far its clock was ahead of this machine's at its last commit, in seconds; 0 if it is not known to be ahead.
    public let wallClockAheadSeconds: Double
  }

  /// A library of the store.
  public struct Library: Sendable {
    /// The name of the library.
    public let name: String
    /// The number of favorites, items and events in it.
    public let counts: LibraryCounts
  }

  /// The folder of the store, as passed when it was opened.
  public let path: String
  /// The replica that this store writes as.
  public let replica: ReplicaID
  /// The display name of that replica.
  public let name: String
  /// A digest of all visible data: equal states have equal digests, on any machine.
  public let digest: HeartlogDigest
  /// The number of events of all replicas.
  public let events: UInt64
  /// The number of events without content: withheld, or written by a later version. The digest does not cover them, so a store with the
  /// same history but more content has a different digest.
  public let eventsWithoutContent: UInt64
  /// The number of commits of all replicas.
  public let commits: UInt64
  /// The size of the log on disk, in bytes.
  public let bytes: UInt64
  /// The number of open conflicts.
  public let conflicts: Int
  /// The replicas, sorted by id.
  public let replicas: [Replica]
  /// The libraries, sorted by name.
  public let libraries: [Library]
}

extension FavoritesStore {
  /// Returns the contents of the store in numbers. One pass over all items, for the digest.
  ///
  /// - Parameter state: the state to describe; the current one if nil.
  /// - Throws: `inputOutput` if the size of the log cannot be read.
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
      eventsWithoutContent: state.eventsWithoutContent,
      commits: state.commitCount,
      bytes: try log.logBytes(),
      conflicts: state.conflicts.count, replicas: replicas,
      libraries: state.libraries.map { StoreStatus.Library(name: $0, counts: state.counts(of: $0)) })
  }
}
