import HeartlogEvents

/// What repairing a store did, or would do.
public struct RepairReport: Sendable {
  /// One file that is damaged, or was.
  public struct Entry: Sendable {
    /// Its path.
    public let file: String
    /// What is wrong with it: a phrase.
    public let damage: String
    /// What was done about it, or would be; or why it was left alone: a phrase.
    public let outcome: String
    /// Whether it is mended, or would be.
    public let isMended: Bool
    /// Where the original is kept; nil where it was not replaced, or there was none, or where nothing was done yet.
    public internal(set) var keptAt: String?
  }

  /// Only looked, and changed nothing.
  public let isDryRun: Bool
  /// In the order in which they were mended; empty for a sound store.
  public internal(set) var entries: [Entry] = []
  /// Who writes to the store now; nil where a dry run would draw a new identity.
  public internal(set) var replica: ReplicaID?
  /// What people call this replica.
  public internal(set) var name = ""
  /// Whose stream the store wrote before, where it goes on under another identity, and that is known.
  public internal(set) var formerReplica: ReplicaID?

  /// Nothing is left, or would be, that is damaged.
  public var isSound: Bool { entries.allSatisfy(\.isMended) }
}
