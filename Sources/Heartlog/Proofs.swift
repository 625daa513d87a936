import HeartlogFormat
import HeartlogEngine

/// A place in the history of one stream.
package enum HistoryPoint: Hashable, Sendable {
  /// After the commit that contains an event.
  case event(EventID)
  /// After a commit of a replica.
  case commit(ReplicaID, CommitNumber)
  /// Where a checkpoint was made, for example one from an earlier proof.
  case checkpoint(WitnessedCheckpoint)
}

extension FavoritesStore {
  /// Proves that a replica wrote an event: in a file, to anybody, without this store. The event may be of any device.
  ///
  /// If the event is this device's own and not signed yet, the stream is signed as far as it has come.
  ///
  /// - Parameter id: the event.
  /// - Returns: a proof, which was verified. Its `bytes` are a file.
  /// - Throws: `notFound` if the log does not have the event or only its hash, or if nothing signed covers it. `corrupt` if the log is not
  ///   what was signed.
  /// - Complexity: the first proof of a stream hashes all of its commits, 1 to 2 seconds for 1,000,000; later ones take milliseconds.
  public func proof(of id: EventID) throws(HeartlogError) -> Proof { Proof(try eventProof(of: id)) }

  /// The proof that `proof(of:)` returns, with all that it consists of.
  package func eventProof(of id: EventID) throws(HeartlogError) -> EventProof {
    try refuseInsideWrite("proof")
    try refresh()
    return try heartlogErrors {
      let commit = try self.commit(of: id)
      let checkpoint = try self.checkpoint(of: id.replica, covering: commit)
      guard let proof = try log.proof(of: id, in: commit, below: checkpoint) else {
        throw HeartlogError(
          .notFound, "event \(id) is withheld: only its hash is here, which does not show what was written")
      }
      return proof
    }
  }

  /// Proves that a stream was only added to: that a later checkpoint covers its first commits unchanged.
  ///
  /// - Parameters:
  ///   - earlier: where the first commits end.
  ///   - later: the later checkpoint, or a place that it has to cover; if nil, the newest that is known.
  /// - Returns: a proof, which was verified. `ProofFile.history(proof).bytes` is the file.
  /// - Throws: `notFound` if the log does not have the commits, or if nothing signed covers them. `invalid` if the two are not of one stream,
  ///   or in the wrong order. `corrupt` if the log is not what was signed.
  package func historyProof(
    from earlier: HistoryPoint, to later: HistoryPoint? = nil
  ) throws(HeartlogError) -> HistoryProof {
    try refuseInsideWrite("historyProof")
    try refresh()
    return try heartlogErrors {
      let start = try place(earlier)
      let end = try later.map(place)
      guard end?.replica ?? start.replica == start.replica else {
        throw HeartlogError(.invalid, "two places in the histories of different replicas")
      }
      let last = end?.commit ?? start.commit
      // A kept checkpoint may be later than an event: the newest checkpoint covers both.
      guard start.commit <= last || start.checkpoint != nil && end?.checkpoint == nil else {
        throw HeartlogError(.invalid, "commit \(start.commit) is later than commit \(last)")
      }
      let checkpoint =
        try end?.checkpoint ?? self.checkpoint(of: start.replica, covering: max(start.commit, last))
      return try log.historyProof(from: (start.checkpoint, start.commit.rawValue), to: checkpoint)
    }
  }

  /// Reads a checkpoint that was kept, a note as `heartlog prove --checkpoint` prints it.
  ///
  /// - Throws: `invalid` if it is not one, or its signature is not valid; `notFound` if the key of its replica is not known here.
  package func checkpoint(note: [UInt8]) throws(HeartlogError) -> WitnessedCheckpoint {
    try heartlogErrors {
      guard let checkpoint = try log.witnessedCheckpoint(note: note) else {
        throw HeartlogError(.notFound, "the key of the replica that made the checkpoint is not known here")
      }
      return checkpoint
    }
  }

  /// The commit that contains an event.
  ///
  /// - Throws: `notFound` if the log does not have it.
  func commit(of id: EventID) throws(HeartlogError) -> CommitNumber {
    guard let commit = read({ $0.commit(of: id) }) else {
      throw HeartlogError(.notFound, "the log has no event \(id)")
    }
    return commit
  }

  private func place(_ point: HistoryPoint) throws(HeartlogError) -> (
    replica: ReplicaID, commit: CommitNumber, checkpoint: WitnessedCheckpoint?
  ) {
    switch point {
    case .event(let id): return (id.replica, try commit(of: id), nil)
    case .commit(let replica, let number):
      guard number.rawValue > 0, number <= head(of: replica) else {
        throw HeartlogError(.notFound, "the log has no commit \(number) of \(replica)")
      }
      return (replica, number, nil)
    case .checkpoint(let checkpoint):
      let size = CommitNumber(rawValue: checkpoint.checkpoint.size)
      let replica = checkpoint.checkpoint.replica
      guard size <= head(of: replica) else {
        throw HeartlogError(
          .notFound,
          "the checkpoint covers \(size) commits of \(replica), and the log has \(head(of: replica))")
      }
      return (replica, size, checkpoint)
    }
  }

  private func head(of replica: ReplicaID) -> CommitNumber {
    read { $0.head(of: replica) } ?? CommitNumber(rawValue: 0)
  }

  /// The newest known checkpoint of a stream.
  private func checkpoint(
    of replica: ReplicaID, covering commit: CommitNumber
  ) throws -> WitnessedCheckpoint {
    let isOwn = replica == self.replica
    var known = try log.witnessedCheckpoint(of: replica)
    if isOwn, known.map({ $0.checkpoint.size < commit.rawValue }) ?? true, options.access == .readWrite {
      try log.makeCheckpoint()
      known = try log.witnessedCheckpoint(of: replica)
    }
    if let known, known.checkpoint.size >= commit.rawValue { return known }
    let signed = known.map { "only its first \($0.checkpoint.size) commits" } ?? "nothing"
    throw HeartlogError(
      .notFound,
      isOwn
        ? "this device has signed \(signed), and cannot sign commit \(commit) here: it has no key, or the store cannot be written"
        : "replica \(replica) has signed \(signed), not commit \(commit): sync with it, or with a device that met it since"
    )
  }
}

/// What signatures say about a device's stream.
package struct StreamSignature: Hashable, Sendable {
  /// The newest checkpoint of the device that this store has verified.
  package let checkpoint: SignedCheckpoint
  /// The devices whose keys are known here and that cosigned the checkpoint, sorted.
  package let witnesses: [ReplicaID]
  /// Whether a person has compared the key with the device: see ``FavoritesStore/trust(_:fingerprint:)``. True for the own key.
  package let isTrusted: Bool
}

extension FavoritesStore {
  /// Signs the own stream up to its last durable commit, unless it is signed already.
  ///
  /// A sync does this itself. The checkpoint is a C2SP tlog-checkpoint: a text that others can keep, and compare with a later one.
  ///
  /// - Returns: the checkpoint; nil if the store has no key, or no commit of its own.
  /// - Throws: `corrupt` if the stream contradicts what the device signed before; `readOnly`, `locked`, `inputOutput`; `misuse` inside
  ///   `write { }`.
  package func makeCheckpoint() throws(HeartlogError) -> SignedCheckpoint? {
    try refuseInsideWrite("makeCheckpoint")
    return try log.makeCheckpoint()
  }

  /// What signatures say about each stream that is signed, by replica. Cosignatures are verified; the checkpoints were when they were
  /// taken.
  ///
  /// - Throws: `corrupt` if the list of trusted keys is damaged; `inputOutput`.
  package func signatures() throws(HeartlogError) -> [ReplicaID: StreamSignature] {
    try heartlogErrors {
      let trusted = try log.trustedKeys()
      let own = log.ownIdentity.replica
      var checkpoints: [ReplicaID: SignedCheckpoint] = [:]
      for stream in log.streams { checkpoints[stream.replica] = try log.checkpoint(of: stream.replica) }
      return checkpoints.mapValues { signed in
        let replica = signed.checkpoint.replica
        let witnesses = signed.cosignatures.filter { cosignature in
          checkpoints[cosignature.witness].map { cosignature.isValid(for: signed.note, key: $0.key) } ?? false
        }
        return StreamSignature(
          checkpoint: signed, witnesses: witnesses.map(\.witness).sorted(),
          isTrusted: replica == own || trusted[replica] == signed.key.fingerprint)
      }
    }
  }

  /// Records that a person has compared the key of a device with what the device itself shows.
  ///
  /// - Parameters:
  ///   - replica: the device's replica.
  ///   - fingerprint: what the device shows; nil if the person has compared it with what this store shows.
  /// - Returns: the fingerprint of the key.
  /// - Throws: `notFound` if the store has no checkpoint of the replica; `peer` if its key has another fingerprint; `readOnly`, `locked`,
  ///   `inputOutput`; `misuse` inside `write { }`.
  @discardableResult
  public func trust(_ replica: ReplicaID, fingerprint: HeartlogDigest? = nil) throws(HeartlogError)
    -> HeartlogDigest
  {
    try refuseInsideWrite("trust")
    guard let signed = try heartlogErrors({ try log.checkpoint(of: replica) }) else {
      throw HeartlogError(.notFound, "there is no checkpoint of replica \(replica), so its key is not known")
    }
    if let fingerprint, fingerprint != signed.key.fingerprint {
      throw HeartlogError(
        .peer,
        "the key of replica \(replica) has the fingerprint \(signed.key.fingerprint), not \(fingerprint): "
          + "what this store has was not signed by that device")
    }
    try log.trust(signed.key)
    return signed.key.fingerprint
  }

  /// The proofs that a device's key signed two histories, with their files, which `ProofFile` verifies without a store. A file that is
  /// damaged has no proof.
  ///
  /// - Throws: `inputOutput`.
  package func evidence() throws(HeartlogError) -> [(file: String, proof: ForkProof?)] {
    try log.evidence()
  }

  /// The vault that the store belongs to, and whether another store is a member, too; nil if it has none.
  package var vaultID: VaultID? { log.vault?.id }
}
