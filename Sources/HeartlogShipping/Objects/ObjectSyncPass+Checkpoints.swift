import Heartlog
import HeartlogProofs

/// Checkpoints among the objects: beside each run file of a signed stream one that proves its runs, and from each device the newest one that it
/// knows of each stream.
extension ObjectSyncPass {
  /// Agrees on a vault with the devices that write in the folder, and joins it.
  mutating func meet(_ listing: FolderListing) throws(HeartlogError) {
    guard let mine = store.vault else { return }
    let isEmpty = try store.streamHeads().allSatisfy { $0.commit.rawValue == 0 }
    var side = VaultAgreement.Side(membership: mine, isEmpty: isEmpty, joins: options.joinsVault)
    for file in listing.checkpoints
    where file.writer == file.stream && file.name.isEnd && file.writer != store.replica {
      try options.checkTime()
      guard let theirs = try readCheckpoint(file)?.vault else { continue }
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

  /// Takes the checkpoints that stand alone, as far as their commits are here.
  mutating func takeCheckpoints(_ stream: ReplicaID, _ listing: FolderListing) throws(HeartlogError) {
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
  }

  /// What proves the runs of a file; `nil` if its stream is not signed, or the proof is not here yet.
  mutating func proof(
    of file: FolderFile, _ runs: [StreamRun]
  ) throws(HeartlogError) -> (checkpoint: SignedCheckpoint, extensionRoots: [UInt64: [Digest]])? {
    var found: (checkpoint: SignedCheckpoint, extensionRoots: [UInt64: [Digest]])?
    for beside in checkpoints(beside: file) {
      guard let content = try readCheckpoint(beside), let signed = verified(content, of: beside) else {
        continue
      }
      found = (signed, content.extensionRoots)
      // Another file of the same commits may have other runs.
      if runs.allSatisfy({ content.extensionRoots[$0.lastCommit.rawValue] != nil }) { break }
    }
    return found
  }

  /// Copies what proves the runs of a file beside another file of the same runs.
  ///
  /// - Returns: False if there is no proof that can be read.
  mutating func copyProof(
    of file: FolderFile, to name: RunFileName, _ writer: ReplicaID
  ) throws(HeartlogError) -> Bool {
    var isCopied = false
    for beside in checkpoints(beside: file) {
      guard let content = try readCheckpoint(beside) else { continue }
      try writeProof(content, of: file.stream, in: name, writer)
      isCopied = true
    }
    return isCopied
  }

  /// Where the proof of a file's runs is. In an encrypted place more than one may be.
  private func checkpoints(beside file: FolderFile) -> [FolderFile] {
    if format.isEncrypted { return proofs[file.runKey] ?? [] }
    let folder = FolderFile.folder(of: file.stream, by: file.writer)
    return [
      FolderFile(
        writer: file.writer, stream: file.stream, name: file.name, kind: .run,
        path: "\(folder)/\(file.name.stem)\(CheckpointFile.ending)", bytes: UInt64(CheckpointFile.bytesMax))
    ]
  }

  /// Verifies the signature of a checkpoint; `nil` if its owner did not sign it.
  private mutating func verified(_ content: CheckpointFile, of file: FolderFile) -> SignedCheckpoint? {
    guard let signed = try? SignedCheckpoint(content.note, key: content.key),
      signed.checkpoint.replica == file.stream
    else {
      damaged.insert(file.path)
      return nil
    }
    return signed
  }

  /// The content of a checkpoint file; `nil` if it is not whole or not here.
  private mutating func readCheckpoint(_ file: FolderFile) throws(HeartlogError) -> CheckpointFile? {
    guard let bytes = try get(file, bytesMax: CheckpointFile.bytesMax) else { return nil }
    guard let content = try? CheckpointFile(bytes), content.replica == file.stream else {
      damaged.insert(file.path)
      return nil
    }
    return content
  }

  // MARK: - Evidence of forks

  static let evidenceEnding = ".proof"

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
    try write("\(name.stem)\(Self.evidenceEnding)", bytes, head.replica, writer)
  }

  // MARK: - Writing

  /// Writes what proves the runs of a file, before the file itself. Does nothing for an unsigned stream.
  mutating func writeProof(
    of runs: [StreamRun], in name: RunFileName, _ head: StreamHead, _ writer: ReplicaID
  ) throws(HeartlogError) {
    guard let signed = head.checkpoint else { return }
    var extensionRoots: [UInt64: [Digest]] = [:]
    for run in runs {
      extensionRoots[run.lastCommit.rawValue] = try store.treeExtension(
        of: head.replica, from: run.lastCommit.rawValue, to: signed.checkpoint.size)
    }
    let file = CheckpointFile(signed, vault: store.vault, extensionRoots: extensionRoots)
    try writeProof(file, of: head.replica, in: name, writer)
  }

  /// Writes the proof of a file. If there is one already, perhaps with an older signature, it stays: it proves the same commits, and the
  /// file beside it must not be without one at any time.
  private mutating func writeProof(
    _ proof: CheckpointFile, of stream: ReplicaID, in name: RunFileName, _ writer: ReplicaID
  ) throws(HeartlogError) {
    let file = "\(name.stem)\(CheckpointFile.ending)"
    let bytes = proof.encoded()
    let place = FolderFile(
      writer: writer, stream: stream, name: name, kind: .run,
      path: "\(FolderFile.folder(of: stream, by: writer))/\(file)", bytes: UInt64(bytes.count))
    let object = try format.sealed(place.path, bytes)
    do throws(HeartlogError) { try put(object.path, object.bytes) } catch {
      guard error.code == .exists else { throw error }
      if let known = try readCheckpoint(place), verified(known, of: place) != nil,
        proof.extensionRoots.keys.allSatisfy({ known.extensionRoots[$0] != nil })
      {
        return
      }
      try write(file, bytes, stream, writer)
    }
  }

  /// Writes the newest checkpoint of a stream with the cosignatures that this store knows, in place of the one before, and removes the
  /// proofs of files that are gone.
  mutating func publishCheckpoint(
    _ head: StreamHead, as writer: ReplicaID, _ listing: FolderListing
  ) throws(HeartlogError) {
    let own = listing.checkpoints.filter { $0.writer == writer && $0.stream == head.replica }
    var path: String?
    if let signed = try store.streamHead(of: head.replica)?.checkpoint {
      let bytes = CheckpointFile(signed, vault: store.vault).encoded()
      let size = signed.checkpoint.size
      let current = RunFileName(
        first: size + 1, last: size, root: RootPrefix(signed.checkpoint.root),
        content: RootPrefix(Digest(Array(bytes.suffix(32)))))
      let file = "\(current.stem)\(CheckpointFile.ending)"
      let object = try format.sealed("\(FolderFile.folder(of: head.replica, by: writer))/\(file)", bytes).path
      if !own.contains(where: { $0.path == object }) { try write(file, bytes, head.replica, writer) }
      path = object
    }
    // What stands beside a run file stays, whoever wrote that since the names were listed: an interrupted pass leaves a proof, and the
    // next one puts the same run file beside it. A copy of this device may write here, too.
    let runs =
      format.isEncrypted && own.contains { !$0.name.isEnd } ? runKeys(of: head.replica, by: writer) : []
    for file in own {
      let isOver =
        if file.name.isEnd {
          path != nil && file.path != path
        } else if format.isEncrypted {
          !runs.contains(file.runKey)
        } else {
          memory.catalogue.entries["\(FolderFile.folder(of: file.stream, by: writer))/\(file.name.text)"]
            == nil
        }
      if isOver { try remove(file.path) }
    }
  }

  /// What the names of a writer's run files of a stream say of the runs.
  private func runKeys(of stream: ReplicaID, by writer: ReplicaID) -> Set<String> {
    let folder = "\(FolderFile.folder(of: stream, by: writer))/"
    return Set(
      memory.catalogue.entries.keys.lazy.filter { $0.hasPrefix(folder) }.compactMap { path in
        RunFileName(String(path.dropFirst(folder.utf8.count))).map { "\(folder)\($0.runKey)" }
      })
  }
}

extension RunFileName {
  /// What the name says of the run, without the content.
  fileprivate var runKey: String { String(stem.dropLast(17)) }
}

extension FolderFile {
  /// The same for a run file and the proof beside it.
  var runKey: String { "\(Self.folder(of: stream, by: writer))/\(name.runKey)" }
}
