import HeartlogEvents
import HeartlogFiles
import HeartlogProofs

/// What a store does with a checkpoint that it was shown.
package enum TakenCheckpoint: Hashable, Sendable {
  /// The commits here lead to it. It is kept unless a later one is.
  case proven
  /// It covers commits that are not here yet.
  case ahead
  /// The commits here lead to another root.
  case contradicted
}

/// A checkpoint as it was read, or that there was none.
struct KnownCheckpoint {
  let checkpoint: SignedCheckpoint?
  /// The lock page's generation when it was read.
  let generation: UInt64
}

extension CommitLog {
  /// Returns the newest known checkpoint of a stream, without verifying its signature; nil if there is none, or its file is damaged, which
  /// `verify` reports.
  package func checkpoint(of replica: ReplicaID) throws(StorageError) -> SignedCheckpoint? {
    // Whoever writes a checkpoint raises the generation.
    let generation = lease.lock.generation
    if generation != 0, let known = streamSet.checkpoints.withLock({ $0[replica] }),
      known.generation == generation
    {
      return known.checkpoint
    }
    let found: SignedCheckpoint?
    do { found = try CheckpointFile.read(of: replica, in: directory) } catch {
      guard error.code == .corrupt else { throw error }
      found = nil
    }
    streamSet.checkpoints.withLock {
      $0[replica] = KnownCheckpoint(checkpoint: found, generation: generation)
    }
    return found
  }

  /// Signs all durable commits of the own stream, unless they are signed already.
  ///
  /// - Returns: The checkpoint; nil if there is no key, or no commit.
  /// - Throws: `corrupt` if the commits contradict the last checkpoint: a key must never sign two histories. `readOnly`, `locked` and
  ///   others as for writing.
  @discardableResult
  package func makeCheckpoint() throws(StorageError) -> SignedCheckpoint? {
    defer { noteFiles() }
    return try storageErrors {
      let (identity, head) = try withQuietLog { (streamSet.identity, streamSet.own.tail.head) }
      return try sign(identity, upTo: head)
    }
  }

  private func sign(_ identity: StoreIdentity, upTo head: CommitNumber?) throws -> SignedCheckpoint? {
    guard let head, let vault = identity.vault,
      let key = try DeviceKeys(directory, options).key(of: identity.replica)
    else { return nil }
    // If it cannot be read, nothing is signed: it may be contradicted.
    let last = try CheckpointFile.read(of: identity.replica, in: directory)
    if let last {
      guard last.checkpoint.size <= head.rawValue,
        try ownRoot(identity.replica, at: last.checkpoint.size) == last.checkpoint.root
      else { throw contradiction(of: last) }
      // It stays valid if the store has come into another vault since.
      if last.checkpoint.size == head.rawValue { return last }
    }
    let root = try ownRoot(identity.replica, at: head.rawValue)
    let signed = try SignedCheckpoint(
      Checkpoint(vault: vault.id, replica: identity.replica, size: head.rawValue, root: root), signedBy: key)
    return try withQuietLog {
      // Another process may have signed more in the meantime.
      if let present = try checkpoint(of: identity.replica), present.checkpoint.size > head.rawValue {
        return present
      }
      try write(signed)
      return signed
    }
  }

  /// Returns a root of the own stream, and marks it: the next checkpoint is compared with this one.
  private func ownRoot(_ replica: ReplicaID, at size: UInt64) throws -> Digest {
    try streamSet.merkleCaches.monitor.withLock {
      if let marked = streamSet.merkleCaches.atHead[replica]?.markedTree(at: size) { return marked.root }
      let merkleCache = try streamSet.merkleCaches.cache(of: replica, at: size)
      merkleCache.mark()
      return merkleCache.tree.root
    }
  }

  private func contradiction(of signed: SignedCheckpoint) -> StorageError {
    StorageError(
      .corrupt,
      "the own stream contradicts what this device signed of its first \(signed.checkpoint.size) commits",
      file: CheckpointFile.path(of: signed.checkpoint.replica, in: directory), offset: 0)
  }

  /// Takes a checkpoint that another store showed, with a valid signature. If the commits of the stream lead to it, it is kept, and this
  /// store cosigns it.
  ///
  /// - Parameter seconds: The time for the cosignature, since 1970.
  package func take(_ shown: SignedCheckpoint, seconds: UInt64) throws(StorageError) -> TakenCheckpoint {
    try storageErrors {
      let replica = shown.checkpoint.replica
      let size = CommitNumber(rawValue: shown.checkpoint.size)
      guard let root = try streamRoot(of: replica, at: size) else { return .ahead }
      guard root == shown.checkpoint.root else { return .contradicted }
      guard access.isWritable else { return .proven }
      let identity = ownIdentity
      let key =
        replica == identity.replica ? nil : try DeviceKeys(directory, options).key(of: identity.replica)
      return try withQuietLog {
        var merged = shown
        if let present = try checkpoint(of: replica) {
          guard present.checkpoint.size <= shown.checkpoint.size else { return .proven }
          if present.checkpoint == shown.checkpoint { merged = present }
        }
        let before = try checkpoint(of: replica)
        merged.merge(shown)
        if let key {
          merged.removeInvalidCosignatures(of: key.publicKey)
          try merged.cosign(with: key, seconds: seconds)
        }
        if merged != before { try write(merged) }
        return .proven
      }
    }
  }

  /// Keeps the checkpoint of a stream of a backup, whose signature is valid, with the cosignatures that it has.
  ///
  /// - Returns: Whether the commits of the stream lead to it; otherwise it is not kept.
  package func restore(_ signed: SignedCheckpoint) throws(StorageError) -> Bool {
    try storageErrors {
      let size = CommitNumber(rawValue: signed.checkpoint.size)
      guard try streamRoot(of: signed.checkpoint.replica, at: size) == signed.checkpoint.root else {
        return false
      }
      try withQuietLog { try write(signed) }
      return true
    }
  }

  /// Writes the checkpoint of a stream. The log is quiet.
  private func write(_ signed: SignedCheckpoint) throws(StorageError) {
    lease.lock.update { _ in }
    try CheckpointFile.write(signed, in: directory, options)
    lease.lock.update { _ in }
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
  ) throws(StorageError) {
    try storageErrors {
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
