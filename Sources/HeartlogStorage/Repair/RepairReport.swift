import HeartlogEvents

/// What a repair of a store did, or what a dry run would do.
package struct RepairReport: Sendable {
  /// A damaged file, and what was done about it.
  package struct Entry: Sendable {
    /// The path of the file.
    package let file: String
    /// What is wrong with the file, as a phrase.
    package let damage: String
    /// What was or would be done about it, or why it was left alone, as a phrase.
    package let outcome: String
    /// Whether it was or would be repaired.
    package let isMended: Bool
    /// Where the original is kept; nil if it was not replaced, did not exist, or this is a dry run.
    package internal(set) var keptAt: String?
  }

  /// Whether this was a dry run that changed nothing.
  package let isDryRun: Bool
  /// In the order of the repairs; empty for a sound store.
  package internal(set) var entries: [Entry] = []
  /// The replica that writes the store now; nil if a dry run would draw a new identity.
  package internal(set) var replica: ReplicaID?
  /// The user-visible name of this replica.
  package internal(set) var name = ""
  /// The replica as which the store wrote before, if it continues under another identity and that replica is known.
  package internal(set) var formerReplica: ReplicaID?

  /// Whether no damage is or would be left.
  package var isSound: Bool { entries.allSatisfy(\.isMended) }
}
