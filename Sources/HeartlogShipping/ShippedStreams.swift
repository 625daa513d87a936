import Heartlog

/// Where a stream stands that can be shipped: durable commits only.
public struct StreamHead: Hashable, Sendable {
  public let replica: ReplicaID
  /// What people call the replica: at most 127 bytes.
  public let name: String
  /// Its last commit; 0 where it has none, which only a stream that was forked at its start is listed with.
  public let commit: CommitNumber
  /// Of the tree over commits 1…`commit`.
  public let root: Digest
  /// The stream was found to be forked: it ends here for ever.
  public let isEnded: Bool

  public init(replica: ReplicaID, name: String, commit: CommitNumber, root: Digest, isEnded: Bool = false) {
    self.replica = replica
    self.name = name
    self.commit = commit
    self.root = root
    self.isEnded = isEnded
  }
}

/// A run of commits on its way.
public struct StreamRun: Hashable, Sendable {
  public let replica: ReplicaID
  public let name: String
  public let firstCommit: CommitNumber
  /// At least 1.
  public let commitCount: Int
  /// One block in block encoding: see docs/format.md.
  public let body: [UInt8]
  /// Of the tree over commits 1 to the last of the run.
  public let root: Digest

  public init(
    replica: ReplicaID, name: String, firstCommit: CommitNumber, commitCount: Int, body: [UInt8], root: Digest
  ) {
    self.replica = replica
    self.name = name
    self.firstCommit = firstCommit
    self.commitCount = commitCount
    self.body = body
    self.root = root
  }

  /// The number of its last commit.
  public var lastCommit: CommitNumber {
    CommitNumber(rawValue: firstCommit.rawValue &+ UInt64(max(1, commitCount)) &- 1)
  }
}

/// What became of a run that was received.
public enum ReceivedRun: Hashable, Sendable {
  case appended(commits: Int, events: Int, changedItems: Int)
  /// Nothing of it was new.
  case known
  /// It begins after the commit that the stream needs next.
  case gap
  /// The store's own commits of these numbers are others, or do not lead to the run's root.
  case diverged
}

/// A store, as far as shipping needs to know it. Every call may come from any thread.
public protocol ShippedStreams: Sendable {
  /// Who writes here.
  var replica: ReplicaID { get }
  /// What people call this replica.
  var name: String { get }

  /// All streams, sorted by replica.
  func streamHeads() throws(HeartlogError) -> [StreamHead]

  /// The root over commits 1…`commit`; nil where the stream is shorter.
  func streamRoot(of replica: ReplicaID, at commit: CommitNumber) throws(HeartlogError) -> Digest?

  /// The next run after commit `after` (0: from the start), as large as the store chooses, and not beyond `last`.
  ///
  /// - Returns: nil where the stream has no commit after `after`.
  func streamRun(
    of replica: ReplicaID, after: UInt64, upTo last: CommitNumber
  ) throws(HeartlogError) -> StreamRun?

  /// Checks numbers, stamps, limits and root of a run, appends what of it is new, durably and as a whole, and applies it. A
  /// run may begin before the stream's head.
  ///
  /// - Throws: `HeartlogError`; `invalid` for bytes that are no run.
  func receive(_ run: StreamRun) throws(HeartlogError) -> ReceivedRun

  /// Ends a stream that was found to be forked at its last common commit (0: there is none); the rest goes on as a stream
  /// of its own. A stream that has ended already ends earlier from now on, if `commit` is earlier. Of a stream that the store
  /// does not know, it takes note that there is nothing to come.
  func endStream(_ replica: ReplicaID, after commit: CommitNumber) throws(HeartlogError)
}
