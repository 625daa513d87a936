import Heartlog
import HeartlogFormat

/// Checkpoints among the objects: one that proves the runs of each run file of a signed stream, in the file or beside it, and from each device
/// the newest one that it knows of each stream.
extension SyncPass {
  /// Agrees on a vault with the devices that write in the folder, and joins it. An encrypted vault is known by its keys.
  mutating func agreeOnVault(_ listing: FolderListing) throws(HeartlogError) {
    guard !format.isEncrypted, let mine = store.vault else { return }
    let isEmpty = try store.streamHeads().allSatisfy { $0.commit.rawValue == 0 }
    var side = VaultAgreement.Side(membership: mine, isEmpty: isEmpty, joins: options.joinsVault)
    for file in listing.checkpoints
    where file.writer == file.stream && file.writer != store.replica && file.name.isEnd {
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
    for file in listing.checkpoints where file.stream == stream && file.name.isEnd {
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

  /// What proves the runs of a file, where that is beside it; `nil` if its stream is not signed, or the proof is not here yet.
  mutating func proof(
    of file: FolderFile, _ runs: [StreamRun]
  ) throws(HeartlogError) -> (checkpoint: SignedCheckpoint, extensionRoots: [UInt64: [Digest]])? {
    guard !format.isEncrypted, !isBetweenStores else { return nil }
    let beside = checkpoint(beside: file)
    guard let content = try readCheckpoint(beside), let signed = verified(content, of: beside) else {
      return nil
    }
    return (signed, content.extensionRoots)
  }

  private func checkpoint(beside file: FolderFile) -> FolderFile {
    let folder = FolderFile.folder(of: file.stream, by: file.writer)
    return FolderFile(
      writer: file.writer, stream: file.stream, name: file.name, kind: .run,
      path: "\(folder)/\(file.name.stem)\(ObjectPath.checkpointEnding)",
      bytes: UInt64(ShippedCheckpointFile.bytesMax))
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
    for file in listing.checkpoints where file.stream == stream && file.name.isEnd && file.name.last > commit
    {
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

  /// Writes the proof of a file beside it. If there is one already, perhaps with an older signature, it stays: it proves the same commits,
  /// and the file beside it must not be without one at any time. Does nothing for a file without one.
  mutating func writeProof(
    of runs: RunFile, in name: RunFileName, _ writer: ReplicaID
  ) throws(HeartlogError) {
    guard let signed = runs.checkpoint else { return }
    let extensionRoots = Dictionary(
      uniqueKeysWithValues: runs.runs.map { ($0.lastCommit.rawValue, $0.proof?.extensionRoots ?? []) })
    let proof = ShippedCheckpointFile(signed, vault: store.vault, extensionRoots: extensionRoots)
    let bytes = proof.encoded()
    let folder = FolderFile.folder(of: runs.replica, by: writer)
    let file = FolderFile(
      writer: writer, stream: runs.replica, name: name, kind: .run,
      path: "\(folder)/\(name.stem)\(ObjectPath.checkpointEnding)", bytes: UInt64(bytes.count))
    do throws(HeartlogError) { try put(file.path, bytes) } catch {
      guard error.code == .exists else { throw error }
      if let known = try readCheckpoint(file), verified(known, of: file) != nil,
        proof.extensionRoots.keys.allSatisfy({ known.extensionRoots[$0] != nil })
      {
        return
      }
      try write("\(name.stem)\(ObjectPath.checkpointEnding)", bytes, runs.replica, writer)
    }
  }

  /// Whether this process wrote a checkpoint of a stream a moment ago. Each new one is an object that all devices read.
  private func hasStatement(_ stream: ReplicaID) -> Bool {
    guard let time = memory.statementTimes[stream] else { return false }
    return (time..<time + Self.statementMilliseconds).contains(options.clock())
  }

  private static let statementMilliseconds: Milliseconds = 10 * 60_000

  /// Writes the newest checkpoint of a stream with the cosignatures that this store knows, in place of the one before, and removes the
  /// proofs of files that are gone.
  mutating func publishCheckpoint(
    _ head: StreamHead, as writer: ReplicaID, _ listing: FolderListing
  ) throws(HeartlogError) {
    let own = listing.checkpoints.filter { $0.writer == writer && $0.stream == head.replica }
    // The newest run file of the own stream says what this would say.
    let isInRuns = format.isEncrypted && head.replica == writer
    let isRecent = head.replica != writer && own.contains { $0.name.isEnd } && hasStatement(head.replica)
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
    for file in own {
      let isOver =
        if file.name.isEnd {
          isInRuns || path != nil && file.path != path
        } else {
          // What stands beside a run file stays, whoever wrote that since the names were listed: an interrupted pass leaves a proof, and the
          // next one puts the same run file beside it. A copy of this device may write here, too.
          memory.catalogue.entries["\(FolderFile.folder(of: file.stream, by: writer))/\(file.name.text)"]
            == nil
        }
      if isOver { try remove(file.path) }
    }
  }
}
