import HeartlogEvents

/// A place in the total order of all events: stamp, then replica, then sequence. The later write wins.
public struct EventPosition: Hashable, Sendable, Comparable {
  public let stamp: HybridTimestamp
  public let replica: ReplicaID
  public let sequence: SequenceNumber

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
