/// The total order of writes, which decides every merge: the later stamp wins; for equal stamps the greater replica; within one replica the
/// greater number. See docs/merge.md.
package enum MergeOrder {
  /// Returns whether one write comes after another.
  ///
  /// - Parameters:
  ///   - stamps: the stamps of both, as raw values.
  ///   - numbers: the sequence numbers of both events, or the numbers of both commits. Used only if both are of one replica.
  ///   - isSameReplica: whether both are of one replica.
  ///   - replicas: returns the replicas of both. Called only if nothing else decides.
  @inlinable @inline(__always)
  package static func isLater(
    stamps: (UInt64, than: UInt64), numbers: (UInt64, than: UInt64), isSameReplica: Bool,
    replicas: () -> (ReplicaID, than: ReplicaID)
  ) -> Bool {
    if stamps.0 != stamps.than { return stamps.0 > stamps.than }
    if isSameReplica { return numbers.0 > numbers.than }
    let (replica, other) = replicas()
    return isLater(replica, than: other)
  }

  /// Returns whether the write of one replica comes after that of another with the same stamp.
  @inlinable @inline(__always)
  package static func isLater(_ replica: ReplicaID, than other: ReplicaID) -> Bool { replica > other }
}
