import HeartlogFormat

/// Proofs of what is in the log. Each is verified before it is returned.
extension CommitLog {
  /// Proves that a checkpoint covers an event.
  ///
  /// In the first call for a stream, hashes all of its commits that the checkpoint covers.
  ///
  /// - Parameters:
  ///   - id: The event.
  ///   - number: The commit that contains it.
  ///   - checkpoint: A checkpoint of its stream that covers the commit.
  /// - Returns: nil if the event was withheld.
  /// - Throws: `corrupt` if the log does not lead to the root that was signed.
  package func proof(
    of id: EventID, in number: CommitNumber, below checkpoint: WitnessedCheckpoint
  ) throws(HeartlogError) -> EventProof? {
    defer { noteFiles() }
    let size = checkpoint.checkpoint.size
    precondition(checkpoint.checkpoint.replica == id.replica && number.rawValue <= size, "another checkpoint")
    return try heartlogErrors {
      let leaf = number.rawValue - 1
      let group = MerkleNodes.group(of: leaf, size: size)
      let found = try LeafReader(directory: directory).leaves(group, of: id.replica, with: number)
      guard let (commit, secrets) = found.commit,
        (commit.firstSequence..<commit.nextSequence).contains(id.sequence)
      else { throw HeartlogError.tooShort(id.replica, before: number.rawValue, in: directory) }
      let index = Int(id.sequence.rawValue - commit.firstSequence.rawValue)
      var salts = Salts(secrets)
      var hasher = SHA256Hasher()
      if case .withheld = commit.records[index] { return nil }
      guard let salt = salts.salt(commit: number, event: index, hasher: &hasher) else {
        throw MalformedError("no salt for event \(index) of commit \(number)")
      }
      let hashes = try commit.records.enumerated().map { event, record in
        if case .withheld(let hash) = record { return hash }
        guard let salt = salts.salt(commit: number, event: event, hasher: &hasher) else {
          throw MalformedError("no salt for event \(event) of commit \(number)")
        }
        return record.hash(salt: salt, hasher: &hasher)
      }
      let inclusion = try InclusionProof(index: leaf, size: size) { subtrees in
        try roots(
          of: subtrees, in: id.replica, size: size, groups: [leaf / MerkleNodes.groupLeaves: found.hashes])
      }
      return try proving(id.replica, upTo: size) { () throws(MalformedError) in
        try EventProof(
          commit: commit, index: index, salt: salt, hashes: hashes, path: inclusion.path,
          checkpoint: checkpoint)
      }
    }
  }

  /// Proves that a checkpoint covers the first commits of its stream unchanged.
  ///
  /// - Parameters:
  ///   - earlier: The checkpoint of the first commits; or nil, and their number.
  ///   - checkpoint: A checkpoint of the same stream that covers them.
  /// - Throws: `corrupt` if the log does not lead from one to the other.
  package func historyProof(
    from earlier: (checkpoint: WitnessedCheckpoint?, size: UInt64), to checkpoint: WitnessedCheckpoint
  ) throws(HeartlogError) -> HistoryProof {
    defer { noteFiles() }
    let replica = checkpoint.checkpoint.replica
    let size = checkpoint.checkpoint.size
    precondition(earlier.size > 0 && earlier.size <= size, "a checkpoint that does not cover the commits")
    return try heartlogErrors {
      let consistency = try ConsistencyProof(size: earlier.size, laterSize: size) { subtrees in
        try roots(of: subtrees, in: replica, size: size)
      }
      guard let root = try streamRoot(of: replica, at: CommitNumber(rawValue: earlier.size)) else {
        throw HeartlogError.tooShort(replica, before: earlier.size, in: directory)
      }
      return try proving(replica, upTo: size) { () throws(MalformedError) in
        try HistoryProof(
          earlier.checkpoint.map { .checkpoint($0) } ?? .root(size: earlier.size, root),
          path: consistency.path, later: checkpoint)
      }
    }
  }

  /// The roots of full subtrees of a stream's tree over `size` commits.
  private func roots(
    of subtrees: [MerkleSubtree], in replica: ReplicaID, size: UInt64, groups: [UInt64: [Digest]] = [:]
  ) throws -> [Digest] {
    let head = withStreams { streamSet.readers[replica]?.tail.head?.rawValue } ?? 0
    guard size <= head else { throw HeartlogError.tooShort(replica, before: size, in: directory) }
    return try streamSet.merkleCaches.monitor.withLock {
      try streamSet.merkleCaches.roots(of: subtrees, in: replica, size: size, head: head, groups: groups)
    }
  }

  /// Makes a proof from the log. If it does not verify, the log is not what was signed.
  private func proving<Proof>(
    _ replica: ReplicaID, upTo size: UInt64, _ make: () throws(MalformedError) -> Proof
  ) throws(HeartlogError) -> Proof {
    do { return try make() } catch {
      streamSet.merkleCaches.monitor.withLock { streamSet.merkleCaches.forget(replica) }
      throw HeartlogError(
        .corrupt, "the stream does not lead to what was signed: \(error.reason)",
        file: directory.streamPath(replica), commits: CommitNumber(rawValue: 1)...CommitNumber(rawValue: size)
      )
    }
  }

  /// The newest known checkpoint of a stream, with the witnesses whose keys are known; nil if there is none.
  ///
  /// - Throws: `corrupt` if its signature is not valid.
  package func witnessedCheckpoint(of replica: ReplicaID) throws(HeartlogError) -> WitnessedCheckpoint? {
    try heartlogErrors {
      guard let signed = try checkpoint(of: replica) else { return nil }
      do { return try witnessed(signed) } catch let error as MalformedError {
        throw HeartlogError(.corrupt, error.reason, file: CheckpointFile.path(of: replica, in: directory))
      }
    }
  }

  /// A checkpoint that was kept elsewhere, with the witnesses whose keys are known; nil if its owner's key is not known here.
  ///
  /// - Throws: `malformed` if it is not a checkpoint, or its signature is not valid.
  package func witnessedCheckpoint(note: [UInt8]) throws(HeartlogError) -> WitnessedCheckpoint? {
    try heartlogErrors {
      let note = try SignedNote(note)
      guard let key = try key(of: try Checkpoint(text: note.text).replica) else { return nil }
      return try witnessed(try SignedCheckpoint(note, key: key))
    }
  }

  /// A checkpoint with the witnesses whose keys are known.
  func witnessed(_ signed: SignedCheckpoint) throws -> WitnessedCheckpoint {
    try WitnessedCheckpoint(signed) { try key(of: $0) }
  }

  private func key(of replica: ReplicaID) throws -> PublicKey? {
    if let key = try checkpoint(of: replica)?.key { return key }
    return replica == ownIdentity.replica
      ? try streamSet.checkpoints.keys.key(of: replica)?.publicKey : nil
  }
}
