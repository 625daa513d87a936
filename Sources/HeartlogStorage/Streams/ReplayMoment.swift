import HeartlogEvents

/// The last moment of a replay.
public enum ReplayMoment: Hashable, Sendable {
  /// Every commit whose stamp's milliseconds are at most these, since 1970.
  case milliseconds(Milliseconds)
  /// The commit of this event, and all before it in the total order.
  case event(EventID)
}

/// A place in the total order of commits: these up to a stamp, and of that stamp those up to a replica.
public struct ReplayBound: Hashable, Sendable {
  private let stamp: HybridTimestamp
  let replica: ReplicaID
  /// The commit that must be there for the moment to be one of this log.
  let commit: CommitNumber?

  /// All commits of these milliseconds, and before; nil where none can be.
  init?(upTo milliseconds: Milliseconds) {
    guard milliseconds >= 0 else { return nil }
    let clamped = min(milliseconds, HybridTimestamp.last.milliseconds)
    stamp = HybridTimestamp(rawValue: HybridTimestamp(milliseconds: clamped).rawValue | 0xFFFF)
    replica = ReplicaID(high: .max, low: .max)
    commit = nil
  }

  /// This commit, and all before it.
  init(upTo commit: CommitNumber, of replica: ReplicaID, at stamp: HybridTimestamp) {
    self.stamp = stamp
    self.replica = replica
    self.commit = commit
  }

  /// The highest stamp that a commit of a replica may have.
  func lastStamp(of replica: ReplicaID) -> HybridTimestamp {
    replica <= self.replica || stamp.rawValue == 0 ? stamp : HybridTimestamp(rawValue: stamp.rawValue - 1)
  }

  /// Whether all commits in front of a position lie within the bound.
  public func contains(_ position: StreamPosition) -> Bool {
    position.lastStamp <= lastStamp(of: position.replica)
  }
}
