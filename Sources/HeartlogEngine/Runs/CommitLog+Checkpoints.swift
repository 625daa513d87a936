import HeartlogFiles
import HeartlogFormat

/// What a store does with a checkpoint that it was shown.
package enum TakenCheckpoint: Hashable, Sendable {
  /// The commits here lead to it. It is kept unless a later one is.
  case proven
  /// It covers commits that are not here yet.
  case ahead
  /// The commits here lead to another root.
  case contradicted
}

extension CommitLog {
  /// Returns the newest known checkpoint of a stream: see `Checkpoints.newest`.
  package func checkpoint(of replica: ReplicaID) throws(HeartlogError) -> SignedCheckpoint? {
    try streamSet.checkpoints.newest(of: replica)
  }

  /// Signs all durable commits of the own stream, unless they are signed already.
  ///
  /// - Returns: The checkpoint; nil if there is no key, or no commit.
  /// - Throws: `corrupt` if the commits contradict the last checkpoint: a key must never sign two histories. `readOnly`, `locked` and
  ///   others as for writing.
  @discardableResult
  package func makeCheckpoint() throws(HeartlogError) -> SignedCheckpoint? {
    defer { noteFiles() }
    return try heartlogErrors {
      // What was signed last and the end of the stream at the same time: another process may write and sign more at any other.
      let (identity, head, last) = try exclusively { _ in
        let identity = streamSet.identity
        return (identity, streamSet.own.tail.head, try streamSet.checkpoints.last(of: identity.replica))
      }
      let signed = try streamSet.checkpoints.sign(
        identity, upTo: head, after: last, streamSet.merkleCaches)
      guard let signed, signed != last else { return signed }
      return try exclusively { _ in
        if let present = try checkpoint(of: identity.replica),
          present.checkpoint.size > signed.checkpoint.size
        {
          return present
        }
        try streamSet.checkpoints.write(signed)
        return signed
      }
    }
  }

  /// Takes a checkpoint that another store showed, with a valid signature. If the commits of the stream lead to it, it is kept, and this
  /// store cosigns it.
  ///
  /// - Parameter seconds: The time for the cosignature, since 1970.
  package func take(_ shown: SignedCheckpoint, seconds: UInt64) throws(HeartlogError) -> TakenCheckpoint {
    try heartlogErrors {
      let replica = shown.checkpoint.replica
      let size = CommitNumber(rawValue: shown.checkpoint.size)
      guard let root = try streamRoot(of: replica, at: size) else { return .ahead }
      guard root == shown.checkpoint.root else { return .contradicted }
      guard access.isWritable else { return .proven }
      let identity = ownIdentity
      let key =
        replica == identity.replica ? nil : try streamSet.checkpoints.keys.key(of: identity.replica)
      return try exclusively { _ in
        let before = try checkpoint(of: replica)
        if let before, before.checkpoint.size > shown.checkpoint.size { return .proven }
        var merged = before?.checkpoint == shown.checkpoint ? before ?? shown : shown
        merged.merge(shown)
        if let key {
          merged.removeInvalidCosignatures(of: key.publicKey)
          try merged.cosign(with: key, seconds: seconds)
        }
        if merged != before { try streamSet.checkpoints.write(merged) }
        return .proven
      }
    }
  }

  /// Keeps the checkpoint of a stream of a backup, whose signature is valid, with the cosignatures that it has.
  ///
  /// - Returns: Whether the commits of the stream lead to it; otherwise it is not kept.
  package func restore(_ signed: SignedCheckpoint) throws(HeartlogError) -> Bool {
    try heartlogErrors {
      let size = CommitNumber(rawValue: signed.checkpoint.size)
      guard try streamRoot(of: signed.checkpoint.replica, at: size) == signed.checkpoint.root else {
        return false
      }
      try exclusively { _ in try streamSet.checkpoints.write(signed) }
      return true
    }
  }

  /// The key with which this device signs; nil if the store does not have it.
  package var deviceKey: (any DeviceKey)? {
    get throws(HeartlogError) { try streamSet.checkpoints.keys.key(of: ownIdentity.replica) }
  }

  /// The store's vault; nil if it has none.
  package var vault: VaultMembership? { ownIdentity.vault }

  /// Makes the store a member of a vault.
  ///
  /// - Parameters:
  ///   - other: The membership of the store that it agreed with.
  ///   - isEstablished: Whether another store is a member, too; otherwise the store may still join any vault.
  package func join(
    _ vault: VaultID, with other: VaultMembership, isEstablished: Bool
  ) throws(HeartlogError) {
    try exclusively { _ in
      var changed = streamSet.identity
      changed.vault =
        changed.vault?.joined(vault, with: other, isEstablished: isEstablished)
        ?? VaultMembership(vault, isEstablished: isEstablished)
      guard changed != streamSet.identity else { return }
      lock.update { $0.structure &+= 1 }
      try directory.replaceFile(directory.identityPath, with: changed.encoded(), suffix: options.random())
      streamSet.identity = changed
    }
  }
}

/// Proofs that a key signed two histories, kept in the folder `evidence`. Source: docs/format.md, "Evidence".
extension CommitLog {
  private var evidencePath: String { "\(directory.path)/evidence" }
  private static let evidenceEnding = ".proof"

  /// Returns the proof that the owner of a stream signed another history than the one in this log; nil if this log does not show it, or
  /// reaches less far than the other history.
  ///
  /// - Parameter other: A checkpoint of the other history, with a valid signature.
  package func forkProof(of other: SignedCheckpoint) throws(HeartlogError) -> ForkProof? {
    let replica = other.checkpoint.replica
    guard let mine = try checkpoint(of: replica), mine.checkpoint.size >= other.checkpoint.size else {
      return nil
    }
    return try heartlogErrors {
      let history = try historyProof(from: (nil, other.checkpoint.size), to: try witnessed(mine))
      return try? ForkProof(earlier: try witnessed(other), history: history)
    }
  }

  /// Keeps a proof, durably.
  package func keep(_ proof: ForkProof) throws(HeartlogError) {
    let bytes = ProofFile.fork(proof).bytes
    let name = "\(proof.replica)-\(Hexadecimal.text(SHA256Hasher.digest(of: bytes).bytes.prefix(8)))"
    try exclusively { _ in
      let fileSystem = directory.fileSystem
      try fileSystem.makeFolder(evidencePath)
      let path = "\(evidencePath)/\(name)\(Self.evidenceEnding)"
      guard try fileSystem.info(path) == nil else { return }
      try directory.replaceFile(path, with: bytes, suffix: options.random())
    }
  }

  /// The proofs that are kept, with their files, sorted by name; a file that is no longer a proof has none.
  package func evidence() throws(HeartlogError) -> [(file: String, proof: ForkProof?)] {
    let names = try ifPresent(directory.fileSystem.entries(of: evidencePath)) ?? []
    return try heartlogErrors {
      try names.filter { $0.hasSuffix(Self.evidenceEnding) }.map { (name) throws(HeartlogError) in
        let path = "\(evidencePath)/\(name)"
        let bytes = try directory.fileSystem.open(path, .read).bytes(1 << 20, at: 0)
        guard case .fork(let proof)? = try? ProofFile(bytes) else { return (path, nil) }
        return (path, proof)
      }
    }
  }
}

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
  func roots(
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
