import Heartlog
import HeartlogFormat

/// Checkpoints among the objects: one that proves the runs of each run file of a signed stream, in the file, and from each device the newest one
/// that it knows of each stream.
extension SyncPass {
  /// Agrees on a vault with the devices that write in the folder, and joins it. An encrypted vault is known by its keys.
  mutating func agreeOnVault(_ listing: FolderListing) throws(HeartlogError) {
    guard !format.isEncrypted, let mine = store.vault else { return }
    let isEmpty = try store.streamHeads().allSatisfy { $0.commit.rawValue == 0 }
    var side = VaultAgreement.Side(membership: mine, isEmpty: isEmpty, joins: options.joinsVault)
    for file in listing.checkpoints
    where file.writer == file.stream && file.writer != store.replica {
      try options.checkTime()
      // It agreed with the vault that this store is in.
      if memory.checked.contains(file.path) { continue }
      // Whoever can put files must not lead devices where they have no key.
      guard let theirs = try readCheckpoint(file)?.vault, !theirs.id.isEncrypted else { continue }
      switch VaultAgreement(side, VaultAgreement.Side(membership: theirs)) {
      case .none: break
      case .vault(let vault):
        // What a file says may be old. That its writer is in the vault is certain only if the file says so.
        let joined = side.membership.joined(vault, with: theirs, isEstablished: theirs.id == vault)
        if !options.isDryRun, joined != side.membership {
          try store.join(vault, with: theirs, isEstablished: joined.isEstablished)
        }
        side.membership = joined
      case .refused(let mine, let theirs): throw .otherVault(mine: mine, theirs: theirs)
      }
    }
  }

  /// The newest run files that devices have of their own streams, by path. Of one device they are several if one was written again: the
  /// other may be gone.
  private static func newestOwn(_ files: [FolderFile]) -> [FolderFile] {
    var newest: [ReplicaID: [FolderFile]] = [:]
    for file in files where file.writer == file.stream && file.kind == .run && !file.name.isEnd {
      let last = newest[file.writer]?.first?.name.last ?? 0
      if file.name.last > last { newest[file.writer] = [] }
      if file.name.last >= last { newest[file.writer, default: []].append(file) }
    }
    return newest.values.flatMap(\.self).sorted { $0.path < $1.path }
  }

  /// Takes the checkpoints that stand alone, as far as their commits are here.
  mutating func takeCheckpoints(
    _ stream: ReplicaID, _ files: [FolderFile], _ listing: FolderListing
  ) throws(HeartlogError) {
    let known = try head(of: stream)
    for file in listing.checkpoints where file.stream == stream {
      try options.checkTime()
      // What covers commits that are not here, or no more, may be the only sign of them.
      if memory.checked.contains(file.path), try isOwn(file) { continue }
      guard let content = try readCheckpoint(file) else { continue }
      if content.note != known?.checkpoint?.note {
        guard let signed = verified(content, of: file),
          try store.take(signed, at: options.clock()) == .proven
        else { continue }
      }
      memory.checked.insert(file.path)
    }
    // The commits may have come by another way, without what proves them.
    for file in format.isEncrypted ? Self.newestOwn(files) : []
    where file.name.last > known?.checkpoint?.checkpoint.size ?? 0 {
      guard try isOwn(file), let signed = try read(file)?.checkpoint else { continue }
      _ = try store.take(signed, at: options.clock())
    }
  }

  /// Verifies the signature of a checkpoint; `nil` if its owner did not sign it.
  private mutating func verified(_ content: ShippedCheckpointFile, of file: FolderFile) -> SignedCheckpoint? {
    guard let signed = try? SignedCheckpoint(content.note, key: content.key),
      signed.checkpoint.replica == file.stream
    else {
      damaged.insert(file.path)
      return nil
    }
    return signed
  }

  /// The content of a checkpoint file; `nil` if it is not whole or not here.
  private mutating func readCheckpoint(_ file: FolderFile) throws(HeartlogError) -> ShippedCheckpointFile? {
    guard let bytes = try get(file, bytesMax: ShippedCheckpointFile.bytesMax) else { return nil }
    guard let content = try? ShippedCheckpointFile(bytes), content.replica == file.stream else {
      damaged.insert(file.path)
      return nil
    }
    return content
  }

  // MARK: - Evidence of forks

  /// Whether a stream may end here: it is unsigned, or its device is proven to have signed two histories.
  ///
  /// - Parameter other: A checkpoint of the other history.
  mutating func mayEnd(
    _ stream: ReplicaID, other: SignedCheckpoint? = nil
  ) throws(HeartlogError) -> Bool {
    guard try head(of: stream)?.checkpoint != nil else { return true }
    if try store.evidence(of: stream) != nil { return true }
    if let other, let proof = try store.forkProof(of: other) {
      try store.keep(proof)
      return true
    }
    return false
  }

  /// Whether the device of a stream has signed more than some of its commits, and nothing proves that it signed two histories.
  mutating func isSigned(
    _ stream: ReplicaID, beyond commit: UInt64, _ listing: FolderListing
  ) throws(HeartlogError) -> Bool {
    guard try store.evidence(of: stream) == nil else { return false }
    for file in listing.checkpoints where file.stream == stream && file.name.last > commit {
      if let content = try readCheckpoint(file), let signed = verified(content, of: file),
        signed.checkpoint.size > commit
      {
        return true
      }
    }
    for file in format.isEncrypted ? Self.newestOwn(listing.files.filter { $0.stream == stream }) : []
    where file.name.last > commit {
      if let signed = try read(file)?.checkpoint, signed.checkpoint.size > commit { return true }
    }
    return false
  }

  /// Verifies and keeps the proofs that other devices wrote.
  mutating func takeEvidence(_ stream: ReplicaID, _ listing: FolderListing) throws(HeartlogError) {
    for file in listing.evidence where file.stream == stream && file.writer != store.replica {
      guard try store.evidence(of: stream) == nil else { return }
      guard let bytes = try get(file, bytesMax: 1 << 20) else { continue }
      guard case .fork(let proof)? = try? ProofFile(bytes), proof.replica == stream else {
        damaged.insert(file.path)
        continue
      }
      try store.keep(proof)
    }
  }

  /// Writes the proof that a stream which ended here was forked by its device, if no device has.
  mutating func publishEvidence(
    _ head: StreamHead, as writer: ReplicaID, _ listing: FolderListing
  ) throws(HeartlogError) {
    guard head.isEnded, !listing.evidence.contains(where: { $0.stream == head.replica }),
      let proof = try store.evidence(of: head.replica)
    else { return }
    let bytes = ProofFile.fork(proof).bytes
    let name = RunFileName(
      first: head.commit.rawValue + 1, last: head.commit.rawValue, root: RootPrefix(head.root),
      content: RootPrefix(SHA256Hasher.digest(of: bytes)))
    try write("\(name.stem)\(ObjectPath.evidenceEnding)", bytes, head.replica, writer)
  }

  // MARK: - Writing

  /// What proves runs of this store; `nil` for an unsigned stream.
  func proof(
    of runs: [StreamRun], _ head: StreamHead
  ) throws(HeartlogError) -> (checkpoint: SignedCheckpoint, extensionRoots: [UInt64: [Digest]])? {
    guard let signed = head.checkpoint else { return nil }
    var extensionRoots: [UInt64: [Digest]] = [:]
    for run in runs {
      extensionRoots[run.lastCommit.rawValue] = try store.treeExtension(
        of: head.replica, from: run.lastCommit.rawValue, to: signed.checkpoint.size)
    }
    return (signed, extensionRoots)
  }

  /// Whether this process wrote a checkpoint of a stream a moment ago. Each new one is an object that all devices read.
  private func hasStatement(_ stream: ReplicaID) -> Bool {
    guard let time = memory.statementTimes[stream] else { return false }
    return (time..<time + Self.statementMilliseconds).contains(options.clock())
  }

  private static let statementMilliseconds: Milliseconds = 10 * 60_000

  /// Writes the newest checkpoint of a stream with the cosignatures that this store knows, in place of the one before.
  mutating func publishCheckpoint(
    _ head: StreamHead, as writer: ReplicaID, _ listing: FolderListing
  ) throws(HeartlogError) {
    let own = listing.checkpoints.filter { $0.writer == writer && $0.stream == head.replica }
    // The newest run file of the own stream says what this would say.
    let isInRuns = format.isEncrypted && head.replica == writer
    let isRecent = head.replica != writer && !own.isEmpty && hasStatement(head.replica)
    var path: String?
    if !isInRuns, !isRecent, let signed = try store.streamHead(of: head.replica)?.checkpoint {
      let bytes = ShippedCheckpointFile(signed, vault: store.vault).encoded()
      let size = signed.checkpoint.size
      let current = RunFileName(
        first: size + 1, last: size, root: RootPrefix(signed.checkpoint.root),
        content: RootPrefix(Digest(Array(bytes.suffix(32)))))
      let file = "\(current.stem)\(ObjectPath.checkpointEnding)"
      let object = try format.sealed("\(FolderFile.folder(of: head.replica, by: writer))/\(file)", bytes).path
      if !own.contains(where: { $0.path == object }) {
        try write(file, bytes, head.replica, writer)
        memory.statementTimes[head.replica] = options.clock()
        memory.checked.insert(object)
      }
      path = object
    }
    for file in own where isInRuns || path != nil && file.path != path { try remove(file.path) }
  }
}
