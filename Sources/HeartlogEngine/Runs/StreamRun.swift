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

/// Collects consecutive commits of a stream in runs.
struct RunBuilder {
  private let name: String
  /// The tail before the next commit.
  private(set) var tail: StreamTail
  private var tree: MerkleTree
  private var draft = BlockDraft()

  /// - Parameters:
  ///   - tail: The tail of the stream before the first commit.
  ///   - tree: The tree over the commits before it.
  init(named name: String, after tail: StreamTail, _ tree: MerkleTree) {
    self.name = name
    assert(tree.size + 1 == tail.next.rawValue, "the tree is over the commits before the tail")
    self.tail = tail
    self.tree = tree
  }

  /// Adds the next commit.
  ///
  /// - Returns: false if the run is full and the commit was not added.
  /// - Throws: `MalformedError` if the commit does not continue the stream. It was not added then.
  mutating func add(_ commit: Commit, secrets: [SegmentSecret], leaf: Digest) throws(MalformedError) -> Bool {
    var extended = tail
    try extended.extend(by: commit)
    guard try draft.add(commit, secrets: secrets, after: tail) else { return false }
    tail = extended
    var hasher = SHA256Hasher()
    tree.append(leaf: leaf, hasher: &hasher)
    assert(tree.size + 1 == tail.next.rawValue, "the tree is over the commits before the tail")
    return true
  }

  /// Returns the run of the commits added since the last one; nil if there are none.
  ///
  /// - Parameter secrets: The secrets of the run, if they are not those of its commits.
  mutating func takeRun(secrets: [SegmentSecret]? = nil) throws(MalformedError) -> StreamRun? {
    guard var block = draft.takeBlock() else { return nil }
    assert(block.lastCommit.next == tail.next, "a run ends where its root is taken")
    if let secrets {
      block = Block(
        replica: block.replica, firstCommit: block.firstCommit, headsAtStart: block.headsAtStart,
        secrets: secrets, commits: block.commits)
    }
    return StreamRun(
      replica: block.replica, name: name, firstCommit: block.firstCommit, commitCount: block.commits.count,
      body: try BlockEncoding.encode(block), root: tree.root)
  }
}

/// Collects consecutive commits of a stream as runs of a branch of it.
struct BranchRuns {
  let branch: StreamBranch
  /// What the stream had seen before the first of the commits.
  private let seen: [Head]
  private var builder: RunBuilder
  /// The salts of the commits of the next run.
  private var kept: [EventSalt] = []
  private var salts = Salts([])

  init(_ branch: StreamBranch, named name: String, seen: [Head]) {
    self.branch = branch
    self.seen = seen
    builder = RunBuilder(named: name, after: StreamTail(replica: branch.replica), MerkleTree())
  }

  /// Adds the stream's next commit.
  ///
  /// - Returns: The run before it, if that is full.
  mutating func add(_ commit: Commit, secrets: [SegmentSecret]) throws(MalformedError) -> StreamRun? {
    var hasher = SHA256Hasher()
    if secrets != salts.secrets { salts = Salts(secrets) }
    let moved = branch.commit(commit, seen: seen)
    var own: [EventSalt] = []
    for event in 0..<commit.eventCount {
      guard let salt = salts.salt(commit: commit.number, event: event, hasher: &hasher) else { continue }
      own.append(EventSalt(commit: moved.number, event: event, salt: salt))
    }
    var branchSalts = Salts([StreamBranch.secret(of: own)])
    let leaf = try moved.leafHash(salts: &branchSalts, hasher: &hasher)
    var full: StreamRun?
    if try !builder.add(moved, secrets: [], leaf: leaf) {
      full = try takeRun()
      let isAdded = try builder.add(moved, secrets: [], leaf: leaf)
      assert(isAdded, "an empty run has room for any commit")
    }
    kept += own
    return full
  }

  /// Returns the run of the commits added since the last one; nil if there are none.
  mutating func takeRun() throws(MalformedError) -> StreamRun? {
    defer { kept = [] }
    return try builder.takeRun(secrets: [StreamBranch.secret(of: kept)])
  }
}

/// The runs of one stream from its first commit on, each checked like a run that is received.
package struct RunChain {
  private var tail: StreamTail
  private var tree = MerkleTree()

  package init(replica: ReplicaID) { tail = StreamTail(replica: replica) }

  /// The last commit; 0 before the first.
  package var commit: UInt64 { tail.next.rawValue - 1 }
  /// The root of the stream's tree over the commits so far.
  package var root: Digest { tree.root }

  /// Appends the next run.
  ///
  /// - Returns: Its commits.
  /// - Throws: `MalformedError` if the run does not continue the stream or does not lead to its root.
  package mutating func extend(by run: StreamRun) throws -> ColumnBlock {
    let block = try RunReceiver.block(of: run)
    guard run.firstCommit == tail.next, block.headsAtStart == tail.seenHeads else {
      throw MalformedError("a run that does not continue its stream")
    }
    try tail.extend(by: block)
    try LeafHashing.append(block, to: &tree)
    assert(tree.size + 1 == tail.next.rawValue, "the tree is over the commits before the tail")
    guard tree.root == run.root else { throw MalformedError("a run that does not lead to its root") }
    return block
  }
}
