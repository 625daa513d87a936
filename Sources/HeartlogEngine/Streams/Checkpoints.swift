import HeartlogFiles
import HeartlogFormat

/// The newest verified checkpoint of each stream, and how the own one is made.
///
/// Whoever writes a checkpoint raises the lock page's generation, so each is read once for each generation, and decoded if it differs from
/// what was read before. Thread-safe, except for what says that the caller holds the lock.
final class Checkpoints: Sendable {
  /// A checkpoint, nil, or what is wrong with its file.
  private typealias Found = Result<SignedCheckpoint?, HeartlogError>

  private let directory: StoreDirectory
  private let options: StorageOptions
  private let lock: StoreLock
  /// The keys of the store.
  let keys: DeviceKeys
  private let known = Monitor<[ReplicaID: (found: Found, bytes: [UInt8]?, generation: UInt64)]>([:])

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
    guard let bytes else { return .success(nil) }
    do { return .success(try CheckpointFile.decode(bytes, of: replica, in: directory)) } catch {
      guard error.code == .corrupt else { throw error }
      return .failure(error)
    }
  }

  /// The newest checkpoint of a stream, whose signature was verified when it was taken; nil if there is none, or its file is damaged, which
  /// `verify` reports.
  func newest(of replica: ReplicaID) throws(HeartlogError) -> SignedCheckpoint? {
    let found = try found(of: replica)
    return try? found.get()
  }

  /// Whether the owner of a stream signs it. A checkpoint that cannot be read was one.
  func isSigned(_ replica: ReplicaID) throws(HeartlogError) -> Bool {
    if case .success(nil) = try found(of: replica) { false } else { true }
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
    try directory.fileSystem.remove(CheckpointFile.path(of: replica, in: directory))
    try directory.fileSystem.synchronizeDirectory(directory.streamPath(replica))
    lock.update { _ in }
  }

  /// What the owner of a stream signed last; nil if it has signed nothing.
  ///
  /// - Throws: `corrupt` if that cannot be read: then nothing may be signed, because it may contradict it.
  func last(of replica: ReplicaID) throws(HeartlogError) -> SignedCheckpoint? {
    try found(of: replica).get()
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

/// The file `checkpoint` in the folder of a stream: the newest checkpoint of its owner that the store has verified, and the owner's key.
/// Source: docs/format.md, "Checkpoints".
package enum CheckpointFile {
  static let name = "checkpoint"

  static func path(of replica: ReplicaID, in directory: StoreDirectory) -> String {
    "\(directory.streamPath(replica))/\(name)"
  }

  package static func encoded(_ checkpoint: SignedCheckpoint) -> [UInt8] {
    Array("heartlog \(ChecksummedText.formatVersion)\nkey \(checkpoint.key)\n".utf8) + checkpoint.note.bytes
  }

  /// Reads the checkpoint of a stream, without verifying its signature; nil if there is none.
  ///
  /// - Throws: `corrupt`, `newerFormat`.
  static func read(of replica: ReplicaID, in directory: StoreDirectory) throws(HeartlogError)
    -> SignedCheckpoint?
  {
    try bytes(of: replica, in: directory).map { bytes throws(HeartlogError) in
      try decode(bytes, of: replica, in: directory)
    }
  }

  /// The bytes of the file; nil if there is none.
  static func bytes(of replica: ReplicaID, in directory: StoreDirectory) throws(HeartlogError) -> [UInt8]? {
    try ifPresent(directory.fileSystem.open(path(of: replica, in: directory), .read).bytes(bytesMax, at: 0))
  }

  /// Decodes the bytes of the file, without verifying the signature.
  ///
  /// - Throws: `corrupt`, `newerFormat`.
  static func decode(
    _ bytes: [UInt8], of replica: ReplicaID, in directory: StoreDirectory
  ) throws(HeartlogError) -> SignedCheckpoint {
    let path = path(of: replica, in: directory)
    do throws(MalformedError) {
      let checkpoint = try decode(bytes, file: path)
      guard checkpoint.checkpoint.replica == replica else { throw MalformedError("it is of another stream") }
      return checkpoint
    } catch {
      throw HeartlogError(
        .corrupt, "the checkpoint of a stream is damaged: \(error.reason)", file: path, offset: 0)
    }
  }

  /// Decodes a key and a note, without verifying the signature.
  package static func decode(_ bytes: [UInt8], file: String) throws(MalformedError) -> SignedCheckpoint {
    let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
    guard lines.count == 3, ChecksummedText.version(in: lines[0]) == ChecksummedText.formatVersion,
      let key = ChecksummedText.value(of: "key", in: lines[1]).flatMap(Hexadecimal.bytes)
        .flatMap({ PublicKey(bytes: $0) })
    else { throw MalformedError("it does not begin with its version and a key") }
    return try SignedCheckpoint(unverified: try SignedNote(Array(lines[2])), key: key)
  }

  /// Writes the checkpoint of a stream in place of the one before, durably. The caller holds the lock.
  static func write(
    _ signed: SignedCheckpoint, in directory: StoreDirectory, _ options: StorageOptions
  ) throws(HeartlogError) {
    let replica = signed.checkpoint.replica
    assert(
      encoded(signed).count <= bytesMax && (try? decode(encoded(signed), file: "")) == signed,
      "a checkpoint is read as it was written")
    try directory.replaceFile(
      path(of: replica, in: directory), with: encoded(signed),
      suffix: options.random())
  }

  static let bytesMax = SignedNote.bytesMax + 256
}

/// What a store records about a stream's tree apart from the commits: in segment headers and in the positions of snapshots.
///
/// Code that reads the stream compares them. They reveal a commit that was edited, even if all checksums were made to match.
struct TreeClaims {
  /// The tree over the first commits of a stream when a file was written.
  struct Claim {
    let size: UInt64
    let root: Digest
    /// The roots of its full subtrees; nil for a checkpoint, which has only the root.
    let frontier: [Digest]?
    /// The file that contains the claim.
    let file: String
    /// The message for a stream whose commits differ.
    let contradiction: String

    init(_ tree: MerkleTree, file: String, contradiction: String) {
      size = tree.size
      root = tree.root
      frontier = tree.frontier
      self.file = file
      self.contradiction = contradiction
    }

    init(_ checkpoint: Checkpoint, file: String) {
      size = checkpoint.size
      root = checkpoint.root
      frontier = nil
      self.file = file
      contradiction = "a checkpoint of its owner over other commits than the stream has"
    }
  }

  private var claims: [UInt64: [Claim]] = [:]
  /// The highest commit of any claim; 0 if there is none.
  private(set) var lastCommit: UInt64 = 0

  init() {}

  /// Collects what segment headers and snapshots claim about a stream's commits up to `last`. A header that cannot be read makes no
  /// claim; it is reported when its segment is read.
  init(
    of replica: ReplicaID, in directory: StoreDirectory, snapshots: [SnapshotClaim] = [],
    upTo last: UInt64 = .max
  ) throws(HeartlogError) {
    for segment in try directory.segments(of: replica) {
      guard let cursor = try? directory.cursor(of: segment, in: replica),
        let tree = try? MerkleTree(size: cursor.header.treeSize, frontier: cursor.header.frontier)
      else { continue }
      if tree.size <= last {
        add(
          Claim(tree, file: cursor.path, contradiction: "a frontier that differs from the commits before it"))
      }
    }
    for claim in snapshots.compactMap({ $0.claim(of: replica) }) where claim.size <= last { add(claim) }
    // A checkpoint that cannot be read makes no claim; `verify` reports it.
    if let signed = try? CheckpointFile.read(of: replica, in: directory), signed.checkpoint.size <= last {
      add(Claim(signed.checkpoint, file: CheckpointFile.path(of: replica, in: directory)))
    }
  }

  mutating func add(_ claim: Claim) {
    // The tree over no commits is always the same.
    guard claim.size > 0 else { return }
    claims[claim.size, default: []].append(claim)
    lastCommit = max(lastCommit, claim.size)
  }

  /// Whether the claims include this one of a file, or it is over no commits and so makes no claim.
  func contains(treeSize: UInt64, frontier: [Digest], in file: String) -> Bool {
    treeSize == 0 || claims[treeSize]?.contains { $0.file == file && $0.frontier == frontier } == true
  }

  /// The sizes of the trees to compare up to a commit, rising; up to it, if there are larger ones.
  func sizes(upTo commit: CommitNumber) -> [UInt64] {
    let last = commit.rawValue
    return claims.keys.filter { $0 < last }.sorted() + (lastCommit < last ? [] : [last])
  }

  /// Returns the claim that a tree contradicts; nil if there is none.
  func contradicted(by tree: MerkleTree) -> Claim? {
    guard let claims = claims[tree.size] else { return nil }
    let root = tree.root
    return claims.first { $0.root != root || ($0.frontier ?? tree.frontier) != tree.frontier }
  }
}

/// What a snapshot records about the log from which it was made.
package struct SnapshotClaim: Sendable {
  package let positions: [StreamPosition]
  /// The path of the snapshot's file.
  package let file: String

  package init(positions: [StreamPosition], file: String) {
    self.positions = positions
    self.file = file
  }

  func claim(of replica: ReplicaID) -> TreeClaims.Claim? {
    positions.first { $0.replica == replica }.map {
      TreeClaims.Claim(
        $0.tree, file: file, contradiction: "a snapshot of other commits than the stream has")
    }
  }
}
