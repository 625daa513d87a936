import HeartlogEngine

/// The contents of a store, in numbers.
public struct StoreStatus: Sendable {
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
  package let eventsWithoutContent: UInt64
  /// The number of commits of all replicas.
  public let commits: UInt64
  /// The size of the log on disk, in bytes.
  public let bytes: UInt64
  /// The number of open conflicts.
  public let conflicts: Int
  /// This device and all devices with commits in the store, sorted by replica.
  public let devices: [Device]
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
    return StoreStatus(
      path: path, replica: replica, name: name, digest: state.digest, events: state.eventCount,
      eventsWithoutContent: state.eventsWithoutContent,
      commits: state.commitCount,
      bytes: try log.logBytes(),
      conflicts: state.conflicts.count, devices: devices(in: state),
      libraries: state.libraries.map { StoreStatus.Library(name: $0, counts: state.counts(of: $0)) })
  }
}

/// A device, as known from its commits.
public struct Device: Hashable, Sendable {
  /// The identity that its events carry.
  public let replica: ReplicaID
  /// Its display name; empty if it has none.
  public let name: String
  /// Whether this is the store's own replica.
  public let isOwn: Bool
  /// The number of its last commit in this store; 0 before the first.
  package let head: UInt64
  /// The number of its events in this store.
  package let events: UInt64
  /// The wall time of its last commit, in milliseconds since 1970; nil before the first.
  public let lastSeen: Milliseconds?
  /// The latest wall time of any of its commits, in milliseconds since 1970; nil before the first. Later than `lastSeen` if its clock was
  /// set back. ``LogMoment/milliseconds(_:)`` uses this time.
  package let latestTime: Milliseconds?
  /// How far its clock was ahead of this machine's at its last commit, in seconds; 0 if it is not known to be ahead. Only its own wall
  /// clock counts, not timestamps it received from other devices.
  package let wallClockAheadSeconds: Double
  /// Whether it was marked as one that will not come back. If it does come back, its commits are merged as usual.
  public let isRetired: Bool
  /// Whether it was found to have two histories. It has ended, and each history continues as a replica of its own.
  package let isEnded: Bool
}

extension FavoritesStore {
  /// The item in the library "settings" that holds settings of a replica, visible to all devices.
  static func settingsItem(of replica: ReplicaID) -> String { "replica-\(replica)" }

  /// This device and all devices with commits in this store, sorted by replica.
  public var devices: [Device] { devices(in: nil) }

  /// - Parameter state: a state of the past; the current one if nil.
  private func devices(in state: FavoritesState?) -> [Device] {
    let own = log.ownIdentity
    let now = options.clock()
    let streams = Dictionary(uniqueKeysWithValues: log.streams.map { ($0.replica, $0) })
    func devices(_ state: FavoritesState) -> [Device] {
      Set(streams.keys).union([own.replica]).union(state.heads.map(\.replica)).sorted().map { replica in
        let stream = streams[replica]
        let isOwn = replica == own.replica
        let retired = state.item(Self.settingsItem(of: replica), in: "settings")?.value(of: "retired")
        return Device(
          replica: replica, name: isOwn ? own.name : stream?.name ?? "", isOwn: isOwn,
          head: state.head(of: replica)?.rawValue ?? 0, events: state.eventCount(of: replica),
          lastSeen: stream?.lastWallTime, latestTime: stream?.latestWallTime,
          wallClockAheadSeconds: stream?.secondsAhead(of: now) ?? 0, isRetired: retired == .bool(true),
          isEnded: stream?.isEnded ?? false)
      }
    }
    return state.map(devices) ?? read(devices)
  }

  /// Shows this device to the others before it has written anything: the field `joined` of the item `replica-ID` in the library "settings".
  package func announceDevice() throws(HeartlogError) {
    guard read({ $0.head(of: replica) }) == nil else { return }
    try library("settings").set(
      [Field(name: "joined", value: .bool(true))], of: Self.settingsItem(of: replica))
  }

  /// The replicas that write no more: their streams have ended, or a person says that they will not come back.
  package var inactiveReplicas: Set<ReplicaID> {
    Set(devices.filter { $0.isRetired || $0.isEnded }.map(\.replica))
  }

  /// The wall time of a device's last commit in this store, in milliseconds since 1970; nil if there is none.
  package func lastWallTime(of replica: ReplicaID) -> Milliseconds? { log.lastWallTime(of: replica) }

  /// Marks a replica as one that will not come back. All devices see the mark: the field `retired` of the item `replica-ID` in the library
  /// "settings". If the replica does come back, its commits are merged as usual. What this store had lost of it is no fault from then on.
  ///
  /// - Returns: whether the replica was not yet marked.
  /// - Throws: `HeartlogError`; `notFound` if the store has nothing of the replica, `invalid` for the store's own replica, `misuse` inside
  ///   `write { }`.
  @discardableResult
  public func retire(_ replica: ReplicaID) throws(HeartlogError) -> Bool {
    try retireReturningCommit(replica) != nil
  }

  /// The replicas of which this store had commits that it has lost, sorted. They may be no devices any more.
  package func lostReplicas() throws(HeartlogError) -> [ReplicaID] {
    try log.lostReplicas()
  }

  /// Like `retire`, but returns the commit; nil if the replica was already marked.
  package func retireReturningCommit(_ replica: ReplicaID) throws(HeartlogError) -> Commit? {
    try refuseInsideWrite("retire")
    let device = devices.first { $0.replica == replica }
    let hasLost = try lostReplicas().contains(replica)
    guard device != nil || hasLost else {
      throw HeartlogError(.notFound, "there is no replica \(replica) in this store")
    }
    guard device?.isOwn != true else {
      throw HeartlogError(.invalid, "\(replica) is the store's own replica")
    }
    let settings = try library("settings")
    return try heartlogErrors {
      let commit = try commit {
        try settings.set([Field(name: "retired", value: .bool(true))], of: Self.settingsItem(of: replica))
      }.commit
      if hasLost { try log.forgetLost(of: replica) }
      return commit
    }
  }
}

extension FavoritesStore {
  /// The replicas that were dropped from this store, sorted.
  package func droppedReplicas() throws(HeartlogError) -> [ReplicaID] { try log.droppedStreams() }

  /// Drops the commits of another replica from this store. The store is then as if it had never received them, takes no more of them from
  /// any device or place, and offers them to none. Other devices keep what they have. Nothing is deleted: see ``keep(_:)``.
  ///
  /// What the replica had erased stays erased.
  ///
  /// - Returns: The path of the folder that has the commits now.
  /// - Throws: `HeartlogError`; `notFound` if the store has no commits of the replica, `invalid` for the store's own replica, `misuse` inside
  ///   `write { }`.
  @discardableResult
  package func drop(_ replica: ReplicaID) throws(HeartlogError) -> String {
    try refuseInsideWrite("drop")
    guard let path = try log.dropStream(replica) else {
      throw HeartlogError(.notFound, "there is no replica \(replica) in this store")
    }
    return path
  }

  /// Takes back a replica that was dropped. The next sync brings what it has written since.
  ///
  /// - Returns: Whether it was dropped.
  /// - Throws: `HeartlogError`; `misuse` inside `write { }`.
  @discardableResult
  package func keep(_ replica: ReplicaID) throws(HeartlogError) -> Bool {
    try refuseInsideWrite("keep")
    return try log.keepStream(replica)
  }
}

extension CommitLog.StreamStatus {
  /// How far the writer's clock was ahead of `now` at its last commit, in seconds; 0 if it was not ahead.
  func secondsAhead(of now: Milliseconds) -> Double {
    Double(max(0, (lastWallTime ?? 0) - now)) / 1_000
  }
}
