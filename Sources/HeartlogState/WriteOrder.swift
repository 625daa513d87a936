import HeartlogFormat

/// Which write had seen which, as far as the commits of a state tell.
package struct WriteOrder: Sendable {
  private var replicas: ReplicaTable

  fileprivate init(_ replicas: ReplicaTable) { self.replicas = replicas }

  /// Returns whether a write supersedes another one of the same register: it is later in the total order, and its writer had seen the other
  /// one. False for a write that is not part of the state.
  package mutating func supersedes(_ write: EventPosition, _ other: EventPosition) -> Bool {
    guard let later = position(write), let earlier = position(other) else { return false }
    return replicas.supersedes(later, earlier)
  }

  private func position(_ event: EventPosition) -> WritePosition? {
    replicas.slot(of: event.replica).map {
      WritePosition(stamp: event.stamp.rawValue, sequence: event.sequence.rawValue, replica: $0)
    }
  }
}

extension FavoritesState {
  /// Which write of this state had seen which.
  package var writeOrder: WriteOrder { WriteOrder(replicas) }
}
