import HeartlogFormat

/// The end of a replay: a last commit for each stream.
package struct ReplayBound: Hashable, Sendable {
  private enum Kind: Hashable {
    /// Every commit up to a time.
    case time(Milliseconds)
    /// The commits up to and including this one in the total order.
    case commit(CommitPosition)
  }

  private let kind: Kind

  /// All commits up to and including this millisecond; nil if the time is before 1970.
  init?(upTo milliseconds: Milliseconds) {
    guard milliseconds >= 0 else { return nil }
    kind = .time(milliseconds)
  }

  /// This commit and all commits before it.
  init(upTo commit: CommitPosition) { kind = .commit(commit) }

  /// The commit that the log must contain for the moment to belong to it; nil for a time.
  var commit: CommitPosition? {
    if case .commit(let position) = kind { position } else { nil }
  }

  /// Returns the bound of one replica's stream.
  func bound(of replica: ReplicaID) -> StreamBound {
    switch kind {
    case .time(let milliseconds): return .time(milliseconds)
    case .commit(let last):
      let isIn = !MergeOrder.isLater(replica, than: last.replica) || last.stamp.rawValue == 0
      return .stamp(isIn ? last.stamp : HybridTimestamp(rawValue: last.stamp.rawValue - 1))
    }
  }

  /// Whether all commits before a position are within the bound.
  package func contains(_ position: StreamPosition) -> Bool {
    bound(of: position.replica).contains(stamp: position.lastStamp, time: position.time)
  }
}

/// The bound of one stream. Stamps and time both rise along a stream, so the commits within the bound are a prefix of
/// it.
enum StreamBound {
  /// The highest stamp that a commit may have.
  case stamp(HybridTimestamp)
  /// The latest time that a commit may have.
  case time(Milliseconds)

  /// Whether a commit is within the bound.
  ///
  /// - Parameter time: The stream's time at that commit.
  @inline(__always)
  func contains(stamp: HybridTimestamp, time: StreamTime) -> Bool {
    switch self {
    case .stamp(let last): stamp <= last
    case .time(let last): time.latest <= last
    }
  }
}
