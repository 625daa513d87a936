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
  /// The stamp of its last commit, as milliseconds since 1970; nil before the first.
  public let lastSeen: Milliseconds?
  /// How far its stamps run ahead of this machine's clock, in seconds; 0 where they do not.
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
    var names = Dictionary(uniqueKeysWithValues: streams.map { ($0.replica, $0.name) })
    names[own.replica] = own.name
    let ended = Set(streams.filter(\.isEnded).map(\.replica))
    return read { state in
      Set(names.keys).union(state.heads.map(\.replica)).sorted().map { replica in
        let last = state.lastStamp(of: replica)?.milliseconds
        let retired = state.item(Self.settingsItem(of: replica), in: "settings")?.value(of: "retired")
        return Device(
          replica: replica, name: names[replica] ?? "", isOwn: replica == own.replica,
          head: state.head(of: replica)?.rawValue ?? 0, events: state.eventCount(of: replica), lastSeen: last,
          wallClockAheadSeconds: Double(max(0, (last ?? 0) - now)) / 1_000, isRetired: retired == .bool(true),
          isEnded: ended.contains(replica))
      }
    }
  }

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
