import HeartlogEvents

/// The position of an event in the `MergeOrder`.
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
    MergeOrder.isLater(
      stamps: (b.stamp.rawValue, than: a.stamp.rawValue),
      numbers: (b.sequence.rawValue, than: a.sequence.rawValue), isSameReplica: a.replica == b.replica
    ) { (b.replica, than: a.replica) }
  }
}
