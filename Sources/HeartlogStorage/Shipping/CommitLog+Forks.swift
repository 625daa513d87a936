import HeartlogEvents
import HeartlogFiles

/// Streams of which two histories were found: a folder was copied or restored, nobody could tell, and both went on with one number.
extension CommitLog {
  /// Ends a stream behind the last commit that both histories have. What this store holds beyond goes on as a stream of its own, under a
  /// name that every store which holds it derives alike; the state is built anew.
  ///
  /// - Parameter commit: 0 where not even the first commit is the same.
  /// - Returns: the stream that what lies beyond is now; nil where there was nothing beyond.
  @discardableResult
  package func endStream(_ replica: ReplicaID, after commit: UInt64) throws(StorageError) -> ReplicaID? {
    try storageErrors {
      try withQuietLog {
        if let end = try StreamEnd.read(of: replica, in: directory), end.commit <= commit { return nil }
        if replica == streamSet.identity.replica {
          try becomeNewReplica(at: try StoreIdentity.Place.of(directory))
        }
        let branch = try takeBranch(of: replica, after: commit)
        // The branch is durable: only now may what it was made of be forgotten.
        let folder = directory.streamPath(replica)
        if try directory.fileSystem.info(folder) == nil { try makeStreamFolder(of: replica) }
        lease.lock.update { $0.structure &+= 1 }
        try directory.replaceFile(
          "\(folder)/\(StreamEnd.name)", with: StreamEnd(commit: commit).encoded(), in: folder,
          suffix: options.random())
        try restart()
        return branch
      }
    }
  }

  /// Makes a stream of the commits behind `commit`, and takes it as if it had been received.
  private func takeBranch(of replica: ReplicaID, after commit: UInt64) throws -> ReplicaID? {
    let merkleCache = try MerkleCache(directory, replica: replica, before: CommitNumber(rawValue: commit + 1))
    try merkleCache.advance(to: commit)
    guard let (first, secrets) = try merkleCache.peek() else { return nil }
    var salts = Salts(secrets)
    var hasher = SHA256Hasher()
    let branch = StreamBranch(
      of: replica, firstCommit: first.number, firstSequence: first.firstSequence,
      leaf: try first.leafHash(salts: &salts, hasher: &hasher))
    let name = merkleCache.name
    let seen = merkleCache.tail.seenHeads
    var tail = StreamTail(replica: branch.replica)
    var tree = MerkleTree()
    var branchSalts = Salts([branch.secret])
    var draft = BlockDraft()
    func takeDraft() throws {
      guard let block = draft.takeBlock() else { return }
      let run = StreamRun(
        replica: branch.replica, name: name, firstCommit: block.firstCommit,
        commitCount: block.commits.count, body: try BlockEncoding.encode(block), root: tree.root)
      let outcome = try takeRun(run, admitting: .ownLog)
      switch outcome {
      case .appended, .known: break
      case .gap, .diverged:
        throw StorageError(.corrupt, "a branch of \(replica) that is here already is another one")
      case .waiting(let reason), .refused(let reason):
        throw StorageError(
          .corrupt, "commits of \(replica) that are here cannot be taken as a branch: \(reason)")
      }
    }
    while let (commit, _) = try merkleCache.peek() {
      let moved = branch.commit(commit, seen: seen)
      if try !draft.add(moved, secrets: [branch.secret], after: tail) {
        try takeDraft()
        _ = try draft.add(moved, secrets: [branch.secret], after: tail)
      }
      tree.append(leaf: try moved.leafHash(salts: &branchSalts, hasher: &hasher), hasher: &hasher)
      try tail.extend(by: moved)
      try merkleCache.pass()
    }
    try takeDraft()
    return branch.replica
  }

  /// Reads everything again: some of what was read is part of the log no more.
  func restart() throws(StorageError) {
    sink.beginRestart()
    defer { sink.endRestart() }
    for replica in streamSet.readers.keys { merkleCaches.monitor.withLock { merkleCaches.forget(replica) } }
    streamSet.readers = [:]
    streamSet.ends = [:]
    streamSet.receivedTails = [:]
    appender.writer = nil
    lease.looksAgain = true
    try catchUp(nil, anew: true)
    queue.reset(to: streamSet.own.tail)
  }
}

/// One of two histories of a stream, as a stream of its own. Source of the names and secrets: docs/format.md, "Forked streams".
struct StreamBranch {
  let replica: ReplicaID
  let secret: SegmentSecret
  private let origin: ReplicaID
  private let firstCommit: CommitNumber
  private let firstSequence: SequenceNumber

  /// - Parameter leaf: the leaf hash of the first commit that is its alone.
  init(
    of origin: ReplicaID, firstCommit: CommitNumber, firstSequence: SequenceNumber, leaf: Digest
  ) {
    self.origin = origin
    self.firstCommit = firstCommit
    self.firstSequence = firstSequence
    var seed = origin.bytes
    seed += (0..<8).map { UInt8(truncatingIfNeeded: firstCommit.rawValue >> (8 * $0)) }
    seed += leaf.bytes
    let name = SHA256Hasher.digest(of: seed)
    replica = ReplicaID(bytes: name.bytes.prefix(16)) ?? origin
    secret = SegmentSecret(
      firstCommit: CommitNumber(rawValue: 1), kind: .whole(SHA256Hasher.digest(of: name.bytes + seed)))
  }

  /// A commit of the origin as the branch's: numbers count from 1, and the first one had seen what both histories have.
  ///
  /// - Parameter seen: what the origin had seen by its last common commit.
  func commit(_ commit: Commit, seen: [Head]) -> Commit {
    var heads = commit.heads
    if commit.number == firstCommit {
      let own = Set(heads.map(\.replica))
      heads += seen.filter { !own.contains($0.replica) }
      if firstCommit.rawValue > 1 {
        heads.append(Head(replica: origin, commit: CommitNumber(rawValue: firstCommit.rawValue - 1)))
      }
      heads.sort { $0.replica < $1.replica }
    }
    return Commit(
      replica: replica, number: CommitNumber(rawValue: commit.number.rawValue - firstCommit.rawValue + 1),
      firstSequence: SequenceNumber(rawValue: commit.firstSequence.rawValue - firstSequence.rawValue + 1),
      stamp: commit.stamp, wallTime: commit.wallTime, origin: commit.origin, heads: heads,
      unknownMembers: commit.unknownMembers, contents: commit.contents)
  }
}
