import HeartlogFormat

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
    return true
  }

  /// Returns the run of the commits added since the last one; nil if there are none.
  ///
  /// - Parameter secrets: The secrets of the run, if they are not those of its commits.
  mutating func takeRun(secrets: [SegmentSecret]? = nil) throws(MalformedError) -> StreamRun? {
    guard var block = draft.takeBlock() else { return nil }
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
      _ = try builder.add(moved, secrets: [], leaf: leaf)
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
