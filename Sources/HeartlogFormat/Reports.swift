/// A place in a store where the bytes differ from what was written.
public struct Finding: Sendable {
  /// What happened to the bytes.
  public enum Verdict: String, Sendable {
    /// An unfinished batch at the tail that was never acknowledged. The next writer cuts it off and keeps a copy.
    case torn
    /// Acknowledged commits are missing at the tail.
    case lost
    /// Bytes differ from what was written.
    case corrupt
  }

  /// What happened to the bytes.
  public let verdict: Verdict
  /// The replica whose stream is affected.
  public let replica: ReplicaID
  /// A description with the file, the offset and the commits.
  public let error: HeartlogError

  package init(verdict: Verdict, replica: ReplicaID, error: HeartlogError) {
    self.verdict = verdict
    self.replica = replica
    self.error = error
  }
}

extension [Finding] {
  /// Both, each place of the log once.
  package func union(_ others: [Finding]) -> [Finding] {
    self
      + others.filter { other in
        !contains { $0.error.file == other.error.file && $0.error.offset == other.error.offset }
      }
  }
}

/// When a commit is acknowledged.
public enum Durability: Sendable {
  /// After fdatasync.
  case durable
  /// After the write. It is flushed within 100 ms, and when the store is closed.
  case buffered
}

/// The result of sealing.
public struct SealReport: Sendable {
  /// The number of files that were replaced.
  package var replacedFiles: Int = 0
  /// The number of sealed files that were written.
  package var sealedFiles: Int = 0
  /// The number of events in the sealed files.
  package var events: UInt64 = 0
  /// The size of the replaced files, in bytes.
  package(set) public var bytesBefore: UInt64 = 0
  /// The size of the sealed files, in bytes.
  package(set) public var bytesAfter: UInt64 = 0

  package init() {}
}

/// What a repair did, or would do.
public struct RepairReport: Sendable {
  /// A file that is or was damaged.
  package struct Entry: Sendable {
    /// The path of the file.
    package let file: String
    /// What is wrong with it, as a phrase.
    package let damage: String
    /// What was or would be done about it, or why it was left alone, as a phrase.
    package let outcome: String
    /// Whether it is or would be repaired.
    package let isRepaired: Bool
    /// The path of the kept original; nil if nothing was replaced, there was no original, or this was a dry run.
    package var keptAt: String?

    /// The stream and the last commit that are lost; nil unless the damage is that commits are gone.
    package let lost: Head?

    package init(
      file: String, damage: String, outcome: String, isRepaired: Bool, keptAt: String? = nil,
      lost: Head? = nil
    ) {
      self.file = file
      self.damage = damage
      self.outcome = outcome
      self.isRepaired = isRepaired
      self.keptAt = keptAt
      self.lost = lost
    }
  }

  /// Whether this was a dry run, which changes nothing.
  package let isDryRun: Bool
  /// In the order of repair; empty for an undamaged store.
  package var entries: [Entry] = []
  /// The replica that the store writes as now; nil if a dry run would draw a new identity.
  package var replica: ReplicaID?
  /// The display name of this replica.
  package var name = ""
  /// The replica that the store wrote as before, if it changed and is known.
  package var formerReplica: ReplicaID?

  package init(isDryRun: Bool) { self.isDryRun = isDryRun }

  /// Whether all damage is or would be repaired.
  public var isSound: Bool { entries.allSatisfy(\.isRepaired) }
}

/// The result of verifying one stream.
package struct StreamVerification: Sendable {
  /// The replica that wrote the stream.
  package let replica: ReplicaID
  /// The display name of the replica, from the stream's last segment.
  package let name: String
  /// Whether this store writes to the stream.
  package let isOwn: Bool
  /// The number of undamaged commits.
  package let commits: UInt64
  /// The number of undamaged events.
  package let events: UInt64
  /// The number of events whose content is not here although no erasure that has arrived names them: a peer withheld it.
  package let missingContents: UInt64
  /// The number of segment files.
  package let segments: Int
  /// The size of its files in bytes, including preallocated zeros.
  package let bytes: UInt64
  /// The root of the stream's hash tree over its undamaged commits.
  package let root: HeartlogDigest
  /// The damage that ends the undamaged part; nil if there is none.
  package let finding: Finding?
  /// The checkpoint that the device signed and that the commits lead to; nil if there is none. Commits after it are unsigned.
  package let checkpoint: SignedCheckpoint?
  /// Whether a person has compared the key with the device; true for the own key.
  package var isTrusted: Bool

  package init(
    replica: ReplicaID, name: String, isOwn: Bool, commits: UInt64, events: UInt64, missingContents: UInt64,
    segments: Int, bytes: UInt64, root: HeartlogDigest, finding: Finding?, checkpoint: SignedCheckpoint?
  ) {
    self.replica = replica
    self.name = name
    self.isOwn = isOwn
    self.commits = commits
    self.events = events
    self.missingContents = missingContents
    self.segments = segments
    self.bytes = bytes
    self.root = root
    self.finding = finding
    self.checkpoint = checkpoint
    isTrusted = isOwn && checkpoint != nil
  }
}
