import HeartlogStorage

/// A device, as far as its commits tell.
public struct Device: Hashable, Sendable {
  /// The identity that its events carry.
  public let replica: ReplicaID
  /// What people call it; empty where nobody named it.
  public let name: String
  /// Whether it is this store itself.
  public let isOwn: Bool
  /// The number of its last commit that is here; 0 before the first.
  public let head: UInt64
  /// How many of its events are here.
  public let events: UInt64
  /// What its clock said at its last commit, as milliseconds since 1970; nil before the first.
  public let lastSeen: Milliseconds?
  /// The latest that its clock ever said, as milliseconds since 1970: later than `lastSeen` where it was set back. Moments go by it, see
  /// ``LogMoment/milliseconds(_:)``. Nil before the first commit.
  public let latestTime: Milliseconds?
  /// How far its clock was ahead of this machine's at its last commit, in seconds; 0 where it was not known to be. What it had heard of from
  /// others, whose clocks may be wrong, has no part in it.
  public let wallClockAheadSeconds: Double
  /// Somebody said that it will not come back. It may all the same, and nothing of it is lost then.
  public let isRetired: Bool
  /// Two histories of it were found: it ended, and each goes on as a replica of its own.
  public let isEnded: Bool
}

extension FavoritesStore {
  /// The item of the library "settings" that says something of a replica, to all devices.
  private static func settingsItem(of replica: ReplicaID) -> String { "replica-\(replica)" }

  /// The devices whose commits are here, and this one, sorted by replica.
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

  /// What the clock of a device said at its last commit that is here, in milliseconds since 1970; nil where there is none.
  public func lastWallTime(of replica: ReplicaID) -> Milliseconds? { log.lastWallTime(of: replica) }

  /// Marks a replica as one that will not come back, for all devices to see: the field `retired` of the item `replica-ID` in the library
  /// "settings". Should it come back, what it wrote is merged all the same.
  ///
  /// - Returns: whether it was not marked so before.
  /// - Throws: `HeartlogError`; `notFound` for a replica of which nothing is here, `invalid` for the store's own, `misuse` inside of
  ///   `write { }`.
  @discardableResult
  public func retire(_ replica: ReplicaID) throws(HeartlogError) -> Bool {
    try retireReturningCommit(replica) != nil
  }

  /// As `retire`, and returns the commit; nil where the replica was marked before.
  package func retireReturningCommit(_ replica: ReplicaID) throws(HeartlogError) -> Commit? {
    try refuseInsideWrite("retire")
    guard let device = devices.first(where: { $0.replica == replica }) else {
      throw HeartlogError(.notFound, "there is no replica \(replica) here")
    }
    guard !device.isOwn else { throw HeartlogError(.invalid, "this store writes as \(replica) itself") }
    let settings = try library("settings")
    return try heartlogErrors {
      try writeReturningCommit {
        try settings.set([Field(name: "retired", value: .bool(true))], of: Self.settingsItem(of: replica))
      }.commit
    }
  }
}

extension CommitLog.StreamStatus {
  /// How far the writer's clock was ahead of `now` at its last commit; 0 where it was not.
  func secondsAhead(of now: Milliseconds) -> Double {
    Double(max(0, (lastWallTime ?? 0) - now)) / 1_000
  }
}
