import HeartlogFormat
import HeartlogFiles

/// The newest verified checkpoint of each stream, and how the own one is made.
///
/// Whoever writes a checkpoint raises the lock page's generation, so each is read once for each generation, and decoded if it differs from
/// what was read before. Thread-safe, except for what says that the caller holds the lock.
final class Checkpoints: Sendable {
  private enum Found {
    case checkpoint(SignedCheckpoint)
    case none
    case damaged(HeartlogError)
  }

  private let directory: StoreDirectory
  private let options: StorageOptions
  private let lock: StoreLock
  /// The keys of the store.
  let keys: DeviceKeys
  private let known = Locked<[ReplicaID: (found: Found, bytes: [UInt8]?, generation: UInt64)]>([:])

  init(_ directory: StoreDirectory, _ options: StorageOptions, _ lock: StoreLock) {
    self.directory = directory
    self.options = options
    self.lock = lock
    keys = DeviceKeys(directory, options)
  }

  private func found(of replica: ReplicaID) throws(HeartlogError) -> Found {
    let generation = lock.generation
    let known = known.withLock { $0[replica] }
    if generation != 0, let known, known.generation == generation { return known.found }
    let bytes = try CheckpointFile.bytes(of: replica, in: directory)
    let found = if let known, known.bytes == bytes { known.found } else { try decode(bytes, of: replica) }
    self.known.withLock { $0[replica] = (found, bytes, generation) }
    return found
  }

  private func decode(_ bytes: [UInt8]?, of replica: ReplicaID) throws(HeartlogError) -> Found {
    guard let bytes else { return .none }
    do { return .checkpoint(try CheckpointFile.decode(bytes, of: replica, in: directory)) } catch {
      guard error.code == .corrupt else { throw error }
      return .damaged(error)
    }
  }

  /// The newest checkpoint of a stream, whose signature was verified when it was taken; nil if there is none, or its file is damaged, which
  /// `verify` reports.
  func newest(of replica: ReplicaID) throws(HeartlogError) -> SignedCheckpoint? {
    guard case .checkpoint(let checkpoint) = try found(of: replica) else { return nil }
    return checkpoint
  }

  /// Whether the owner of a stream signs it. A checkpoint that cannot be read was one.
  func isSigned(_ replica: ReplicaID) throws(HeartlogError) -> Bool {
    if case .none = try found(of: replica) { false } else { true }
  }

  /// Keeps a checkpoint, durably, in place of the one before. The caller holds the lock.
  func write(_ signed: SignedCheckpoint) throws(HeartlogError) {
    lock.update { _ in }
    try CheckpointFile.write(signed, in: directory, options)
    lock.update { _ in }
  }

  /// Removes the checkpoint of a stream, durably. The caller holds the lock.
  func remove(of replica: ReplicaID) throws(HeartlogError) {
    lock.update { _ in }
    try heartlogErrors {
      try directory.fileSystem.remove(CheckpointFile.path(of: replica, in: directory))
      try directory.fileSystem.synchronizeDirectory(directory.streamPath(replica))
    }
    lock.update { _ in }
  }

  /// What the owner of a stream signed last; nil if it has signed nothing.
  ///
  /// - Throws: `corrupt` if that cannot be read: then nothing may be signed, because it may contradict it.
  func last(of replica: ReplicaID) throws(HeartlogError) -> SignedCheckpoint? {
    if case .damaged(let error) = try found(of: replica) { throw error }
    return try newest(of: replica)
  }

  /// Signs the first commits of the own stream, up to `head`, unless they are signed already. The caller keeps the checkpoint once they are
  /// durable.
  ///
  /// - Parameter last: What was signed last when the stream ended at `head`.
  /// - Returns: The checkpoint, which may be `last`; nil if there is no key, or no commit.
  /// - Throws: `corrupt` if the commits contradict `last`: a key must never sign two histories.
  func sign(
    _ identity: StoreIdentity, upTo head: CommitNumber?, after last: SignedCheckpoint?,
    _ merkleCaches: MerkleCaches
  ) throws -> SignedCheckpoint? {
    guard let head, let vault = identity.vault, let key = try keys.key(of: identity.replica) else {
      return nil
    }
    func root(at size: UInt64) throws -> Digest {
      try merkleCaches.monitor.withLock { try merkleCaches.markedRoot(of: identity.replica, at: size) }
    }
    if let last {
      guard last.checkpoint.size <= head.rawValue, try root(at: last.checkpoint.size) == last.checkpoint.root
      else { throw contradiction(of: last) }
      // It stays valid if the store has come into another vault since.
      if last.checkpoint.size == head.rawValue { return last }
    }
    return try SignedCheckpoint(
      Checkpoint(
        vault: vault.id, replica: identity.replica, size: head.rawValue, root: try root(at: head.rawValue)),
      signedBy: key)
  }

  private func contradiction(of signed: SignedCheckpoint) -> HeartlogError {
    HeartlogError(
      .corrupt,
      "the own stream contradicts what this device signed of its first \(signed.checkpoint.size) commits",
      file: CheckpointFile.path(of: signed.checkpoint.replica, in: directory), offset: 0)
  }
}
