import HeartlogStorage

/// A device, as known from its commits.
public struct Device: Hashable, Sendable {
  /// The identity that its events carry.
  public let replica: ReplicaID
  /// Its display name; empty if it has none.
  public let name: String
  /// Whether this is the store's own replica.
  public let isOwn: Bool
  /// The number of its last commit in this store; 0 before the first.
  public let head: UInt64
  /// The number of its events in this store.
  public let events: UInt64
  /// The wall time of its last commit, in milliseconds since 1970; nil before the first.
  public let lastSeen: Milliseconds?
  /// The latest wall time of any of its commits, in milliseconds since 1970; nil before the first. Later than `lastSeen` if its clock was
  /// set back. ``LogMoment/milliseconds(_:)`` uses this time.
  public let latestTime: Milliseconds?
  /// How far its clock was ahead of this machine's at its last commit, in seconds; 0 if it is not known to be ahead. Only its own wall
  /// clock counts, not timestamps it received from other devices.
  public let wallClockAheadSeconds: Double
  /// Whether it was marked as one that will not come back. If it does come back, its commits are merged as usual.
  public let isRetired: Bool
  /// Whether it was found to have two histories. It has ended, and each history continues as a replica of its own.
  public let isEnded: Bool
}

extension FavoritesStore {
  /// The item in the library "settings" that holds settings of a replica, visible to all devices.
  static func settingsItem(of replica: ReplicaID) -> String { "replica-\(replica)" }

  /// This device and all devices with commits in this store, sorted by replica.
  public var devices: [Device] {
    let own = log.ownIdentity
    let now = options.clock()
    let streams = log.streams
    let byReplica = Dictionary(uniqueKeysWithValues: streams.map { ($0.replica, $0) })
    return read { state in
      Set(byReplica.keys).union([own.replica]).union(state.heads.map(\.replica)).sorted().map { replica in
        let stream = byReplica[replica]
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
  }

  /// The replicas that write no more: their streams have ended, or a person says that they will not come back.
  package var inactiveReplicas: Set<ReplicaID> {
    Set(devices.filter { $0.isRetired || $0.isEnded }.map(\.replica))
  }

  /// The wall time of a device's last commit in this store, in milliseconds since 1970; nil if there is none.
  public func lastWallTime(of replica: ReplicaID) -> Milliseconds? { log.lastWallTime(of: replica) }

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
      let commit = try writeReturningCommit {
        try settings.set([Field(name: "retired", value: .bool(true))], of: Self.settingsItem(of: replica))
      }.commit
      if hasLost { try log.forgetLost(of: replica) }
      return commit
    }
  }
}

extension CommitLog.StreamStatus {
  /// How far the writer's clock was ahead of `now` at its last commit, in seconds; 0 if it was not ahead.
  func secondsAhead(of now: Milliseconds) -> Double {
    Double(max(0, (lastWallTime ?? 0) - now)) / 1_000
  }
}
