import Heartlog

/// What a sync did.
public struct SyncReport: Hashable, Sendable {
  /// What went one way.
  public struct Amount: Hashable, Sendable {
    /// Commits that were new where they came.
    public var commits: UInt64 = 0
    /// Events in them. Nil in a dry run, and where it is not known.
    public var events: UInt64?
    /// Through the carrier, the dialogue included.
    public var bytes: UInt64 = 0

    /// Nothing.
    public init() {}
  }

  /// A stream of which both ends have commits of the same numbers that differ.
  public struct Fork: Hashable, Sendable {
    /// Whose stream it is.
    public let replica: ReplicaID
    /// What people call that replica.
    public let name: String
    /// The last commit that both have (0: none); nil where it was not looked for.
    public let lastCommon: CommitNumber?
    /// Whether the stream was ended there; else it was passed over.
    public let isEnded: Bool

    /// A fork of the stream of `replica`.
    public init(replica: ReplicaID, name: String, lastCommon: CommitNumber?, isEnded: Bool) {
      self.replica = replica
      self.name = name
      self.lastCommon = lastCommon
      self.isEnded = isEnded
    }
  }

  /// A stream of which commits were to come, and not all of them did. The other streams came all the same.
  public struct SkippedStream: Hashable, Sendable {
    /// Why they did not come.
    public enum Cause: String, Sendable {
      /// This store does not take them yet: the next sync tries again.
      case waiting
      /// A clock wrote them that is not believed.
      case clock
      /// They do not lead to the root that came with them.
      case refused
      /// This store is damaged; the reason says where.
      case damaged
      /// The peer cannot read them: its store is damaged.
      case peerDamaged
    }

    /// Whose stream it is.
    public let replica: ReplicaID
    /// What people call that replica.
    public let name: String
    /// The first commit that did not come.
    public let firstCommit: CommitNumber
    /// Why it did not come, for programs.
    public let cause: Cause
    /// Why it did not come: a phrase without a full stop.
    public let reason: String

    /// A stream that was left out from `firstCommit` on.
    public init(
      replica: ReplicaID, name: String, firstCommit: CommitNumber, cause: Cause, reason: String
    ) {
      self.replica = replica
      self.name = name
      self.firstCommit = firstCommit
      self.cause = cause
      self.reason = reason
    }
  }

  /// A device whose clock is ahead of this one's by an hour or more.
  public struct ClockAhead: Hashable, Sendable {
    /// Nil for a peer that has no commit of its own.
    public let replica: ReplicaID?
    /// What people call it; nil where that was not told.
    public let name: String?
    /// How far it is ahead.
    public let milliseconds: Milliseconds

    /// A device that far ahead.
    public init(replica: ReplicaID?, name: String?, milliseconds: Milliseconds) {
      self.replica = replica
      self.name = name
      self.milliseconds = milliseconds
    }
  }

  /// Files of a folder that are no part of it, or not yet.
  public struct FolderFiles: Hashable, Sendable {
    /// Run files that are whole by their names.
    public var runs = 0
    /// Known to be there, and not downloaded yet.
    public var placeholders = 0
    /// Run files whose content is not what their names say: half copied, or damaged.
    public var damaged = 0
    /// Run files that a file-syncing program kept under another name.
    public var copies = 0
    /// Everything else.
    public var foreign = 0
    /// Run files that wait for one before them.
    public var waiting = 0
    /// Files that this store left.
    public var written = 0
    /// Files of its own that this store merged away.
    public var removed = 0

    /// An empty folder.
    public init() {}
  }

  /// Nothing was written: the amounts are what would come and go.
  public var isDryRun = false
  /// The other store; nil where there is none, or where it has no commit of its own.
  public var peer: ReplicaID?
  /// What people call it; nil where that was not told.
  public var peerName: String?
  /// How far the peer's clock is ahead of this one's, negative behind, the way of the message included; nil without a dialogue.
  public var peerClockAheadMilliseconds: Milliseconds?
  /// In a dry run, what would come.
  public var received = Amount()
  /// In a dry run, what would go.
  public var sent = Amount()
  /// Items whose state changed by what was received.
  public var changedItems: UInt64 = 0
  /// Streams that either end knows.
  public var streams = 0
  /// The forks that were found.
  public var forks: [Fork] = []
  /// The streams of which not all came, or could be given, that was to come.
  public var skipped: [SkippedStream] = []
  /// What the peer said of its own store, where that is damaged: what, where, and what to run there. What of it is sound arrived.
  public var peerDamage: String?
  /// The devices whose clock is ahead by an hour or more: by the commits that came, or by the peer's greeting.
  public var clocksAhead: [ClockAhead] = []
  /// Nil but for folders.
  public var folder: FolderFiles?

  /// Nothing done.
  public init() {}

  /// Whether all came and went that was to, or will once it has waited: false where a store is damaged, or commits were refused.
  public var isComplete: Bool { peerDamage == nil && skipped.allSatisfy { $0.cause == .waiting } }
}
