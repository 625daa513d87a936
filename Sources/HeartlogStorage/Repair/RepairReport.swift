import HeartlogEvents

/// What repairing a store did, or would do.
package struct RepairReport: Sendable {
  /// One file that is damaged, or was.
  package struct Entry: Sendable {
    /// Its path.
    package let file: String
    /// What is wrong with it: a phrase.
    package let damage: String
    /// What was done about it, or would be; or why it was left alone: a phrase.
    package let outcome: String
    /// Whether it is mended, or would be.
    package let isMended: Bool
    /// Where the original is kept; nil where it was not replaced, or there was none, or where nothing was done yet.
    package internal(set) var keptAt: String?
  }

  /// Only looked, and changed nothing.
  package let isDryRun: Bool
  /// In the order in which they were mended; empty for a sound store.
  package internal(set) var entries: [Entry] = []
  /// Who writes to the store now; nil where a dry run would draw a new identity.
  package internal(set) var replica: ReplicaID?
  /// What people call this replica.
  package internal(set) var name = ""
  /// Whose stream the store wrote before, where it goes on under another identity, and that is known.
  package internal(set) var formerReplica: ReplicaID?

  /// Nothing is left, or would be, that is damaged.
  package var isSound: Bool { entries.allSatisfy(\.isMended) }
}
