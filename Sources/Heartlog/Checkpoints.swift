import HeartlogFormat
import HeartlogStorage

/// What signatures say about a device's stream.
public struct StreamSignature: Hashable, Sendable {
  /// The newest checkpoint of the device that this store has verified.
  public let checkpoint: SignedCheckpoint
  /// The devices whose keys are known here and that cosigned the checkpoint, sorted.
  public let witnesses: [ReplicaID]
  /// Whether a person has compared the key with the device: see ``FavoritesStore/trust(_:fingerprint:)``. True for the own key.
  public let isTrusted: Bool
}

extension FavoritesStore {
  /// Signs the own stream up to its last durable commit, unless it is signed already.
  ///
  /// A sync does this itself. The checkpoint is a C2SP tlog-checkpoint: a text that others can keep, and compare with a later one.
  ///
  /// - Returns: the checkpoint; nil if the store has no key, or no commit of its own.
  /// - Throws: `corrupt` if the stream contradicts what the device signed before; `readOnly`, `locked`, `inputOutput`; `misuse` inside
  ///   `write { }`.
  public func makeCheckpoint() throws(HeartlogError) -> SignedCheckpoint? {
    try refuseInsideWrite("makeCheckpoint")
    return try log.makeCheckpoint()
  }

  /// What signatures say about each stream that is signed, by replica. Cosignatures are verified; the checkpoints were when they were
  /// taken.
  ///
  /// - Throws: `corrupt` if the list of trusted keys is damaged; `inputOutput`.
  public func signatures() throws(HeartlogError) -> [ReplicaID: StreamSignature] {
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
  public func evidence() throws(HeartlogError) -> [(file: String, proof: ForkProof?)] {
    try log.evidence()
  }

  /// The vault that the store belongs to, and whether another store is a member, too; nil if it has none.
  public var vaultID: VaultID? { log.vault?.id }
}
