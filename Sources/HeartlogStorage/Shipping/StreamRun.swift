import HeartlogEvents

/// How far a stream goes that can be shipped: durable commits only.
package struct StreamHead: Hashable, Sendable {
  package let replica: ReplicaID
  /// What people call it; at most 127 bytes.
  package let name: String
  /// 0 where there is none, which only a stream is listed with that was forked at its start.
  package let commit: CommitNumber
  /// Of the stream's tree over the commits up to `commit`.
  package let root: Digest
  /// Two histories of the stream were found: it ends here for good, and each goes on as a stream of its own.
  package let isEnded: Bool

  package init(replica: ReplicaID, name: String, commit: CommitNumber, root: Digest, isEnded: Bool = false) {
    self.replica = replica
    self.name = name
    self.commit = commit
    self.root = root
    self.isEnded = isEnded
  }
}

/// A run of commits on its way from store to store.
package struct StreamRun: Hashable, Sendable {
  package let replica: ReplicaID
  package let name: String
  package let firstCommit: CommitNumber
  /// At least 1.
  package let commitCount: Int
  /// One block, as docs/format.md encodes it.
  package let body: [UInt8]
  /// Of the stream's tree after the run's last commit.
  package let root: Digest

  package init(
    replica: ReplicaID, name: String, firstCommit: CommitNumber, commitCount: Int, body: [UInt8], root: Digest
  ) {
    self.replica = replica
    self.name = name
    self.firstCommit = firstCommit
    self.commitCount = commitCount
    self.body = body
    self.root = root
  }

  package var lastCommit: CommitNumber {
    CommitNumber(rawValue: firstCommit.rawValue &+ UInt64(commitCount) &- 1)
  }
}

/// What became of a run that was received.
package enum ReceivedRun: Hashable, Sendable {
  /// What of it was new is durable, and part of the state; registers of so many items hold something else now.
  case appended(commits: Int, events: Int, changedItems: Int)
  /// All of it is here already.
  case known
  /// Commits before it are missing.
  case gap
  /// The stream has other commits here: it was forked.
  case diverged
  /// Nothing of it is taken for now, and so nothing of its stream behind it; the store is as it was. Why is a phrase without a full stop.
  case waiting(String)
  /// Nothing of it is taken, nor of its stream behind it, though it is sound: a clock wrote it that is not believed. Why is a phrase without
  /// a full stop.
  case refused(String)
}
