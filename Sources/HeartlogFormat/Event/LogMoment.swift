/// A moment in the history of a store.
public enum LogMoment: Hashable, Sendable {
  /// All commits up to this time, in milliseconds since 1970. The time of a commit is the latest wall time of its device so far. Timestamps
  /// received from other devices do not count.
  case milliseconds(Milliseconds)
  /// The commit that contains this event, and all commits before it in the total order.
  case event(EventID)
  /// This commit of a device, and all commits before it in the total order.
  case commit(ReplicaID, CommitNumber)
}
