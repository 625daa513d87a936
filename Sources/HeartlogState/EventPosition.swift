import HeartlogEvents

/// A place in the total order of all events: stamp, then replica, then sequence. The later write wins.
public struct EventPosition: Hashable, Sendable, Comparable {
  /// What comes first.
  public let stamp: HybridTimestamp
  /// What decides between equal stamps.
  public let replica: ReplicaID
  /// What decides between events of one commit.
  public let sequence: SequenceNumber

  /// The position of these three.
  public init(stamp: HybridTimestamp, replica: ReplicaID, sequence: SequenceNumber) {
    self.stamp = stamp
    self.replica = replica
    self.sequence = sequence
  }

  public static func < (a: EventPosition, b: EventPosition) -> Bool {
    if a.stamp != b.stamp { return a.stamp < b.stamp }
    if a.replica != b.replica { return a.replica < b.replica }
    return a.sequence < b.sequence
  }
}
