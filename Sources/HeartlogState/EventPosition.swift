import HeartlogEvents

/// A place in the total order of all events: stamp, then replica, then sequence. The later write wins.
package struct EventPosition: Hashable, Sendable, Comparable {
  /// What comes first.
  package let stamp: HybridTimestamp
  /// What decides between equal stamps.
  package let replica: ReplicaID
  /// What decides between events of one commit.
  package let sequence: SequenceNumber

  /// The position of these three.
  package init(stamp: HybridTimestamp, replica: ReplicaID, sequence: SequenceNumber) {
    self.stamp = stamp
    self.replica = replica
    self.sequence = sequence
  }

  package static func < (a: EventPosition, b: EventPosition) -> Bool {
    if a.stamp != b.stamp { return a.stamp < b.stamp }
    if a.replica != b.replica { return a.replica < b.replica }
    return a.sequence < b.sequence
  }
}
