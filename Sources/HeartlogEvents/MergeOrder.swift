/// The total order of writes, by which every merge is decided: the later stamp wins; of equal stamps that of the greater replica; of one
/// replica that with the greater number. See docs/merge.md.
package enum MergeOrder {
  /// Whether one write comes after another.
  ///
  /// - Parameters:
  ///   - stamps: of the two, as raw values.
  ///   - numbers: of the two, where both are of one replica: sequence numbers of events, or numbers of commits.
  ///   - isSameReplica: whether both are of one replica.
  ///   - replicas: of the two. Asked only where everything else leaves it open.
  @inlinable @inline(__always)
  package static func isLater(
    stamps: (UInt64, than: UInt64), numbers: (UInt64, than: UInt64), isSameReplica: Bool,
    replicas: () -> (ReplicaID, than: ReplicaID)
  ) -> Bool {
    if stamps.0 != stamps.than { return stamps.0 > stamps.than }
    if isSameReplica { return numbers.0 > numbers.than }
    let (replica, other) = replicas()
    return replica > other
  }
}
