import HeartlogFormat
import HeartlogFiles

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
      let (identity, head, last) = try withQuietLog {
        let identity = streamSet.identity
        return (identity, streamSet.own.tail.head, try streamSet.checkpoints.last(of: identity.replica))
      }
      let signed = try streamSet.checkpoints.sign(
        identity, upTo: head, after: last, streamSet.merkleCaches)
      guard let signed, signed != last else { return signed }
      return try withQuietLog {
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
      return try withQuietLog {
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
      try withQuietLog { try streamSet.checkpoints.write(signed) }
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
    try heartlogErrors {
      try withQuietLog {
        var changed = streamSet.identity
        changed.vault =
          changed.vault?.joined(vault, with: other, isEstablished: isEstablished)
          ?? VaultMembership(vault, isEstablished: isEstablished)
        guard changed != streamSet.identity else { return }
        lease.lock.update { $0.structure &+= 1 }
        try directory.replaceFile(
          directory.identityPath, with: changed.encoded(), in: directory.path, suffix: options.random())
        streamSet.identity = changed
      }
    }
  }
}
