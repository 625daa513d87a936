import HeartlogEvents

/// The last moment of a replay.
package enum ReplayMoment: Hashable, Sendable {
  /// Every commit whose time is at most these milliseconds since 1970: see `StreamTime`.
  case milliseconds(Milliseconds)
  /// The commit of this event, and all before it in the total order.
  case event(EventID)
}

/// The last commits of a replay: of each stream, those up to some place.
package struct ReplayBound: Hashable, Sendable {
  private enum Kind: Hashable {
    /// Every commit up to a time.
    case time(Milliseconds)
    /// The commits up to one of them, in the total order.
    case commit(CommitNumber, ReplicaID, HybridTimestamp)
  }

  private let kind: Kind

  /// All commits of these milliseconds, and before; nil where none can be.
  init?(upTo milliseconds: Milliseconds) {
    guard milliseconds >= 0 else { return nil }
    kind = .time(milliseconds)
  }

  /// This commit, and all before it.
  init(upTo commit: CommitNumber, of replica: ReplicaID, at stamp: HybridTimestamp) {
    kind = .commit(commit, replica, stamp)
  }

  /// The commit that must be there for the moment to be one of this log; nil for a time.
  var commit: (number: CommitNumber, replica: ReplicaID)? {
    guard case .commit(let number, let replica, _) = kind else { return nil }
    return (number, replica)
  }

  /// How far the stream of a replica goes.
  func bound(of replica: ReplicaID) -> StreamBound {
    switch kind {
    case .time(let milliseconds): return .time(milliseconds)
    case .commit(_, let last, let stamp):
      let isIn = replica <= last || stamp.rawValue == 0
      return .stamp(isIn ? stamp : HybridTimestamp(rawValue: stamp.rawValue - 1))
    }
  }

  /// Whether all commits in front of a position lie within the bound.
  package func contains(_ position: StreamPosition) -> Bool {
    bound(of: position.replica).contains(stamp: position.lastStamp, time: position.time)
  }
}

/// How far a stream is read. Stamps and time both rise along a stream, so what lies within is the stream's beginning.
enum StreamBound {
  /// The highest stamp that a commit may have.
  case stamp(HybridTimestamp)
  /// The latest time that a commit may have.
  case time(Milliseconds)

  /// Whether a commit lies within.
  ///
  /// - Parameter time: the stream's at that commit.
  @inline(__always)
  func contains(stamp: HybridTimestamp, time: StreamTime) -> Bool {
    switch self {
    case .stamp(let last): stamp <= last
    case .time(let last): time.latest <= last
    }
  }
}
