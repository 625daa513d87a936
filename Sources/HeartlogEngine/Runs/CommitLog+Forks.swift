import HeartlogFiles
import HeartlogFormat

/// Streams with two histories: a folder was copied or restored without being noticed, and both copies continued with the same replica
/// and commit numbers.
extension CommitLog {
  /// Ends a stream after the last commit that both histories have. Later commits in this store become a stream of their own, whose
  /// replica every store derives in the same way. The state is rebuilt.
  ///
  /// - Parameter commit: The last common commit; 0 if even the first commits differ.
  /// - Returns: The stream that now contains the later commits; nil if there were none.
  @discardableResult
  package func endStream(_ replica: ReplicaID, after commit: UInt64) throws(HeartlogError) -> ReplicaID? {
    try exclusively { log in
      if streamSet.dropped.contains(replica) { return nil }
      if let end = try StreamEnd.read(of: replica, in: directory), end.commit <= commit { return nil }
      if replica == streamSet.identity.replica {
        try recovery.becomeNewReplica(at: try StoreIdentity.Location.of(directory))
      }
      let branch = try log.takeBranch(of: replica, after: commit)
      // The branch is durable: only now may the commits that it replaces be dropped.
      let folder = directory.streamPath(replica)
      if try directory.fileSystem.info(folder) == nil { try directory.makeStreamFolder(of: replica) }
      lock.update { $0.structure &+= 1 }
      try directory.replaceFile(
        "\(folder)/\(StreamEnd.name)", with: StreamEnd(commit: commit).encoded(),
        suffix: options.random())
      // What was signed beyond the end is of one of the two histories, and the evidence has it.
      if let signed = try checkpoint(of: replica), signed.checkpoint.size > commit {
        try streamSet.checkpoints.remove(of: replica)
      }
      try restart()
      return branch
    }
  }

  /// Makes room for the history of a stream that its owner signed: the one in this store, which is unsigned, becomes a stream of its own.
  /// The state is rebuilt.
  package func setAside(_ replica: ReplicaID) throws(HeartlogError) {
    try exclusively { log in
      guard replica != streamSet.identity.replica else {
        throw HeartlogError(.misuse, "a store cannot set its own stream aside")
      }
      if streamSet.dropped.contains(replica) { return }
      _ = try log.takeBranch(of: replica, after: 0)
      try log.removeCommits(of: replica, after: 0)
      let folder = directory.streamPath(replica)
      let end = StreamEnd.path(of: replica, in: directory)
      if try directory.fileSystem.info(end) != nil { try directory.fileSystem.remove(end) }
      try directory.fileSystem.synchronizeDirectory(folder)
      try restart()
    }
  }

  /// Makes room for what the owner of a stream may still sign: the commits behind its checkpoint, which nobody ships, become a stream of
  /// their own. The state is rebuilt.
  ///
  /// - Returns: The stream that has them now; nil if there are none, or the stream is unsigned.
  @discardableResult
  package func setUnsignedAside(of replica: ReplicaID) throws(HeartlogError) -> ReplicaID? {
    guard replica != streamSet.identity.replica, let signed = try checkpoint(of: replica)?.checkpoint.size
    else { return nil }
    return try setAside(replica, after: signed)
  }

  /// Makes the commits of a stream behind one of them a stream of their own, without ending it: it is then what it is where these commits
  /// never came. If it is the store's own stream, the store writes as another replica from then on. The state is rebuilt.
  ///
  /// - Returns: The stream that has them now; nil if there are none, or the stream has ended.
  @discardableResult
  package func setAside(_ replica: ReplicaID, after commit: UInt64) throws(HeartlogError) -> ReplicaID? {
    let isOwn = replica == streamSet.identity.replica
    let isLonger = withStreams {
      streamSet.readers[replica].map { !$0.isEnded && $0.tail.head?.rawValue ?? 0 > commit } ?? false
    }
    guard isOwn || isLonger else { return nil }
    return try exclusively { log in
      guard streamSet.readers[replica]?.isEnded != true else { return nil }
      if isOwn { try recovery.becomeNewReplica(at: try StoreIdentity.Location.of(directory)) }
      let branch = try log.takeBranch(of: replica, after: commit)
      if let branch {
        var list = try BranchList.read(of: replica, in: directory)
        let entry = BranchList.Branch(commit: commit, replica: branch)
        if !list.branches.contains(entry) {
          list.branches.append(entry)
          try list.write(of: replica, in: directory, options)
        }
        if let signed = try checkpoint(of: replica), signed.checkpoint.size > commit {
          try streamSet.checkpoints.remove(of: replica)
        }
        try log.removeCommits(of: replica, after: commit)
      }
      try restart()
      return branch
    }
  }

  /// Reads the whole log again, because some of what was read is no longer part of it.
  func restart() throws(HeartlogError) {
    projection.beginRestart(erasedGeneration: streamSet.erased.list.generation)
    defer { projection.endRestart() }
    streamSet.forgetAll()
    receiver.forgetTails()
    appender.writer = nil
    lease.looksAgain = true
    try catchUp(nil, anew: true)
    queue.reset(to: streamSet.own.tail)
  }
}

extension ExclusiveLog {
  /// Removes commits of a stream that another stream has, durably. Removed from the end on, what a crash leaves is a sound stream. The
  /// log must be read anew afterwards.
  fileprivate func removeCommits(of replica: ReplicaID, after commit: UInt64) throws {
    // What they say of these commits is no longer so.
    try removeSnapshots()
    let folder = directory.streamPath(replica)
    lock.update { $0.structure &+= 1 }
    for segment in try directory.segments(of: replica).reversed() {
      guard segment.firstCommit.rawValue > commit else {
        try rewriteSegment(from: segment.firstCommit, of: replica, upTo: CommitNumber(rawValue: commit))
        break
      }
      try directory.fileSystem.remove(directory.path(of: segment, in: replica))
      try directory.fileSystem.synchronizeDirectory(folder)
    }
  }

  /// Creates a stream from the commits after `commit`, and takes it as if it had been received.
  fileprivate func takeBranch(of replica: ReplicaID, after commit: UInt64) throws -> ReplicaID? {
    let merkleCache = try MerkleCache(directory, replica: replica, before: CommitNumber(rawValue: commit + 1))
    try merkleCache.advance(to: commit)
    guard let (first, secrets) = try merkleCache.peek() else { return nil }
    var salts = Salts(secrets)
    var hasher = SHA256Hasher()
    let branch = StreamBranch(
      of: replica, firstCommit: first.number, firstSequence: first.firstSequence,
      leaf: try first.leafHash(salts: &salts, hasher: &hasher))
    var runs = BranchRuns(
      branch, named: merkleCache.name, seen: merkleCache.tail.seenHeads)
    func take(_ run: StreamRun?) throws {
      guard let run else { return }
      switch try self.take(run, admitting: .ownLog) {
      case .appended, .known: break
      case .gap, .diverged:
        throw HeartlogError(.corrupt, "the store already has a different branch of \(replica)")
      case .waiting(let reason), .refused(let reason), .unsigned(let reason), .full(let reason):
        throw HeartlogError(
          .corrupt, "the commits of \(replica) in this store cannot become a branch: \(reason)")
      }
    }
    while let (commit, secrets) = try merkleCache.peek() {
      try take(try runs.add(commit, secrets: secrets))
      try merkleCache.pass()
    }
    try take(try runs.takeRun())
    return branch.replica
  }
}

/// One of two histories of a stream, as a stream of its own. Source of the names: docs/format.md, "Forked streams".
struct StreamBranch {
  let replica: ReplicaID
  /// The name that programs gave it that also gave its events new salts.
  let formerReplica: ReplicaID
  private let origin: ReplicaID
  private let firstCommit: CommitNumber
  private let firstSequence: SequenceNumber

  /// Derives the branch.
  ///
  /// - Parameter leaf: The leaf hash of the first commit that only this history has.
  init(
    of origin: ReplicaID, firstCommit: CommitNumber, firstSequence: SequenceNumber, leaf: Digest
  ) {
    self.origin = origin
    self.firstCommit = firstCommit
    self.firstSequence = firstSequence
    var seed = origin.bytes
    seed += Self.bytes(of: firstCommit)
    seed += leaf.bytes
    func name(_ bytes: [UInt8]) -> ReplicaID {
      ReplicaID(bytes: SHA256Hasher.digest(of: bytes).bytes.prefix(16)) ?? origin
    }
    replica = name(Array("branch/2".utf8) + seed)
    formerReplica = name(seed)
  }

  /// Derives the stream in which commits go on that stand behind lost ones. Source: docs/format.md, "Salvage".
  ///
  /// - Parameters:
  ///   - first: The first commit behind the lost ones.
  ///   - leaf: Its leaf hash.
  ///   - seen: What is known of the heads that the origin had seen before. Stores that lost different commits may know less or more, so the
  ///     name depends on it.
  init(behindLossBefore first: Commit, leaf: Digest, seen: [Head]) {
    let heads = Self.firstHeads(of: first, seen: seen)
    origin = first.replica
    firstCommit = first.number
    firstSequence = first.firstSequence
    var bytes = Array("salvaged/1".utf8) + origin.bytes + Self.bytes(of: first.number) + leaf.bytes
    for head in heads { bytes += head.replica.bytes + Self.bytes(of: head.commit) }
    replica = ReplicaID(bytes: SHA256Hasher.digest(of: bytes).bytes.prefix(16)) ?? origin
    formerReplica = replica
  }

  private static func bytes(of commit: CommitNumber) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: commit.rawValue >> (8 * $0)) }
  }

  /// The heads of the branch's first commit.
  private static func firstHeads(of commit: Commit, seen: [Head]) -> [Head] {
    let own = Set(commit.heads.map(\.replica))
    var heads = commit.heads + seen.filter { !own.contains($0.replica) }
    if commit.number.rawValue > 1 {
      heads.append(Head(replica: commit.replica, commit: CommitNumber(rawValue: commit.number.rawValue - 1)))
    }
    return heads.sorted { $0.replica < $1.replica }
  }

  /// Whether one of these streams is the branch.
  func isAmong(_ streams: Set<ReplicaID>) -> Bool {
    streams.contains(replica) || streams.contains(formerReplica)
  }

  /// The secret of commits of a branch: the salts that their events have in the origin, so that their hashes are the same.
  ///
  /// - Parameter salts: by commit of the branch and event; those of withheld events are missing.
  static func secret(of salts: [EventSalt]) -> SegmentSecret {
    let first = CommitNumber(rawValue: 1)
    var runs: [(run: UInt32, salts: [EventSalt])] = []
    for salt in salts {
      let run = UInt32(truncatingIfNeeded: (salt.commit.rawValue - 1) / SegmentSecret.commitsPerRun)
      if runs.last?.run == run {
        runs[runs.count - 1].salts.append(salt)
      } else {
        runs.append((run, [salt]))
      }
    }
    return SegmentSecret(
      firstCommit: first, kind: .runs(runs.map { RunSecret(run: $0.run, kind: .salts($0.salts)) }))
  }

  /// Converts a commit of the origin to one of the branch. Numbers count from 1, and the heads of the first commit include what both
  /// histories have seen.
  ///
  /// - Parameter seen: The heads that the origin had seen by the last common commit.
  func commit(_ commit: Commit, seen: [Head]) -> Commit {
    let heads = commit.number == firstCommit ? Self.firstHeads(of: commit, seen: seen) : commit.heads
    return Commit(
      replica: replica, number: CommitNumber(rawValue: commit.number.rawValue - firstCommit.rawValue + 1),
      firstSequence: SequenceNumber(rawValue: commit.firstSequence.rawValue - firstSequence.rawValue + 1),
      stamp: commit.stamp, wallTime: commit.wallTime, origin: commit.origin, heads: heads,
      unknownMembers: commit.unknownMembers, contents: commit.contents)
  }
}
