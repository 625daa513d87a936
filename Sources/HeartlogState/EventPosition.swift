import HeartlogFormat

/// The position of an event in the `MergeOrder`.
package struct EventPosition: Hashable, Sendable, Comparable {
  /// Compared first.
  package let stamp: HybridTimestamp
  /// Compared if the stamps are equal.
  package let replica: ReplicaID
  /// Compared between events of one commit.
  package let sequence: SequenceNumber

  /// Creates a position.
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
