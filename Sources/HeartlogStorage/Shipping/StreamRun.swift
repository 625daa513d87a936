import HeartlogFormat

/// The head of a stream that can be shipped: only durable commits count.
package struct StreamHead: Hashable, Sendable {
  package let replica: ReplicaID
  /// The user-visible name of the replica; at most 127 bytes.
  package let name: String
  /// 0 if there is none, which occurs only for a stream that was forked at its start.
  package let commit: CommitNumber
  /// The root of the stream's tree over the commits up to `commit`.
  package let root: Digest
  /// Whether two histories of the stream were found: it ends here for good, and each history continues as its own stream.
  package let isEnded: Bool
  /// The checkpoint that covers `commit`; nil if the stream is unsigned.
  package let checkpoint: SignedCheckpoint?
  /// Whether the store has commits after `commit` that it does not ship, because their owner has not signed them.
  package let holdsMore: Bool

  package init(
    replica: ReplicaID, name: String, commit: CommitNumber, root: Digest, isEnded: Bool = false,
    checkpoint: SignedCheckpoint? = nil, holdsMore: Bool = false
  ) {
    self.replica = replica
    self.name = name
    self.commit = commit
    self.root = root
    self.isEnded = isEnded
    self.checkpoint = checkpoint
    self.holdsMore = holdsMore
  }
}

/// A run of commits that is sent from one store to another.
package struct StreamRun: Hashable, Sendable {
  package let replica: ReplicaID
  package let name: String
  package let firstCommit: CommitNumber
  /// At least 1.
  package let commitCount: Int
  /// One block, encoded as in docs/format.md.
  package let body: [UInt8]
  /// The root of the stream's tree after the run's last commit.
  package let root: Digest
  /// What proves that the stream's owner signed the run; nil if nothing does.
  package var proof: RunProof?

  package init(
    replica: ReplicaID, name: String, firstCommit: CommitNumber, commitCount: Int, body: [UInt8],
    root: Digest, proof: RunProof? = nil
  ) {
    self.replica = replica
    self.name = name
    self.firstCommit = firstCommit
    self.commitCount = commitCount
    self.body = body
    self.root = root
    self.proof = proof
  }

  /// The same run with less content.
  func with(_ block: Block) throws(MalformedError) -> StreamRun {
    StreamRun(
      replica: replica, name: name, firstCommit: firstCommit, commitCount: commitCount,
      body: try BlockEncoding.encode(block), root: root, proof: proof)
  }

  package var lastCommit: CommitNumber {
    CommitNumber(rawValue: firstCommit.rawValue &+ UInt64(commitCount) &- 1)
  }
}

/// What proves that a run is part of what its stream's owner signed.
package struct RunProof: Hashable, Sendable {
  /// A checkpoint that covers the run, with a valid signature.
  package let checkpoint: SignedCheckpoint
  /// The roots of the full subtrees that lead from the tree after the run to the checkpoint's: see `MerkleTree.extended`.
  package let extensionRoots: [Digest]

  package init(checkpoint: SignedCheckpoint, extensionRoots: [Digest]) {
    self.checkpoint = checkpoint
    self.extensionRoots = extensionRoots
  }

  /// Whether a tree over a stream's first commits is part of what was signed.
  package func covers(_ tree: MerkleTree) -> Bool {
    let signed = checkpoint.checkpoint
    return (try? tree.extended(by: extensionRoots, to: signed.size))?.root == signed.root
  }
}

/// The result of receiving a run.
package enum ReceivedRun: Hashable, Sendable {
  /// The new commits of the run are durable and part of the state; `changedItems` is the number of items with a changed register.
  case appended(commits: Int, events: Int, changedItems: Int)
  /// All of its commits are already here.
  case known
  /// Commits before it are missing.
  case gap
  /// The stream has other commits here: it was forked.
  case diverged
  /// Nothing of the run is accepted for now, and so nothing after it in its stream. The store is unchanged. The reason is a phrase
  /// without a period.
  case waiting(String)
  /// Nothing of the run, nor anything after it in its stream, is accepted. It is sound, but was written by a clock that is not
  /// believed. The reason is a phrase without a period.
  case refused(String)
  /// Nothing of the run, nor anything after it in its stream, is accepted: the device that owns the stream has a key, and did not sign
  /// this. The reason is a phrase without a period.
  case unsigned(String)
  /// Nothing of the run, nor anything after it in its stream, is accepted: the store has as many streams as it takes. The reason is a
  /// phrase without a period.
  case full(String)
}
