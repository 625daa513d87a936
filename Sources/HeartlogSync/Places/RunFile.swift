import Heartlog
import HeartlogFormat

/// The content of a run file. The format is specified in "The folder" in docs/shipping.md.
package struct RunFile: Hashable {
  let replica: ReplicaID
  private(set) var name: String
  let firstCommit: UInt64
  /// Consecutive runs; empty if the file says that the stream ends before `firstCommit`. Either all have a proof, from one checkpoint, or none.
  package private(set) var runs: [StreamRun]
  /// What the writer's store said of its vault when it proved the runs; `nil` if it belongs to none, or if the file has no proof.
  package var vault: VaultMembership?

  static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x52, 0x55, 0x4E, 0x0D, 0x0A]
  static let version: UInt8 = 1
  static let provenVersion: UInt8 = 2
  static let bytesMax = 128 << 20
  /// The size of a full file. No run is added to a full file, so it exceeds this size by one run at most.
  static let fullBytes = 8 << 20
  private static let hashBytes = 32

  var lastCommit: UInt64 { runs.last?.lastCommit.rawValue ?? firstCommit - 1 }

  /// The checkpoint that proves the runs; `nil` if there is none.
  var checkpoint: SignedCheckpoint? { runs.last?.proof?.checkpoint }

  /// Says what proves the runs.
  package mutating func prove(with proof: (checkpoint: SignedCheckpoint, extensionRoots: [UInt64: [Digest]]))
  {
    for index in runs.indices {
      runs[index].proof = RunProof(
        checkpoint: proof.checkpoint,
        extensionRoots: proof.extensionRoots[runs[index].lastCommit.rawValue] ?? [])
    }
  }

  /// Encodes the file and returns it with its name. If there are no runs, `endRoot` is the root after the
  /// last commit.
  package func encoded(endRoot: Digest? = nil) -> (name: RunFileName, bytes: [UInt8]) {
    var writer = ByteWriter(capacity: 256 + runs.reduce(0) { $0 + $1.body.count + 64 })
    writer.raw(Self.magic)
    writer.u8(checkpoint == nil ? Self.version : Self.provenVersion)
    writer.replica(replica)
    writer.text(name)
    writer.varint(firstCommit)
    writer.varint(runs.count)
    for run in runs {
      writer.varint(run.commitCount)
      writer.raw(run.root)
      writer.lengthAndBytes(run.body)
    }
    if let checkpoint { writeProof(checkpoint, &writer) }
    let hash = SHA256Hasher.digest(of: writer.bytes)
    writer.raw(hash)
    let root = runs.last?.root ?? endRoot ?? MerkleTree().root
    return (
      RunFileName(
        first: firstCommit, last: lastCommit, root: RootPrefix(root), content: RootPrefix(hash)), writer.bytes
    )
  }

  /// The hash at the end of a whole file; `nil` if the bytes are not a whole file.
  static func contentHash(_ bytes: [UInt8], magic: [UInt8] = magic) -> Digest? {
    guard bytes.count > magic.count + hashBytes, bytes.starts(with: magic) else { return nil }
    let end = Digest(Array(bytes.suffix(hashBytes)))
    var hasher = SHA256Hasher()
    // Not copied: a file may have 128 MiB.
    bytes.withUnsafeBytes { hasher.update(UnsafeRawBufferPointer(rebasing: $0.dropLast(hashBytes))) }
    return hasher.finish() == end ? end : nil
  }

  /// Decodes a file.
  ///
  /// - Throws: `MalformedError` if the bytes are not whole, or not a run file.
  package init(_ bytes: [UInt8]) throws(MalformedError) {
    guard Self.contentHash(bytes) != nil else { throw MalformedError("an incomplete run file") }
    self = try bytes.withBytes { (bytes) throws(MalformedError) in
      try RunFile(content: UnsafeRawBufferPointer(rebasing: bytes.dropLast(Self.hashBytes)))
    }
  }

  package init(replica: ReplicaID, name: String, firstCommit: UInt64, runs: [StreamRun]) {
    self.replica = replica
    self.name = name
    self.firstCommit = firstCommit
    self.runs = runs
  }

  /// A file that takes the runs of a stream after a commit.
  init(of stream: ReplicaID, after commit: UInt64) {
    self.init(replica: stream, name: "", firstCommit: commit + 1, runs: [])
  }

  var isFull: Bool { runs.reduce(0) { $0 + $1.body.count } >= Self.fullBytes }

  /// Reads the next run from a store, and adds it.
  ///
  /// - Throws: `corrupt` if the stream does not continue up to `last`.
  mutating func takeRun(
    from store: FavoritesStore, upTo last: UInt64
  ) throws(HeartlogError) -> StreamRun {
    let run = try store.nextRun(of: replica, after: lastCommit, upTo: last)
    if runs.isEmpty { name = run.name }
    runs.append(run)
    return run
  }

  private init(content: UnsafeRawBufferPointer) throws(MalformedError) {
    var reader = ByteReader(content)
    _ = try reader.take(Self.magic.count)
    let version = try reader.u8()
    guard version == Self.version || version == Self.provenVersion else {
      throw MalformedError("a run file of version \(version)")
    }
    replica = try reader.replica()
    name = try reader.text()
    try ShippedName.check(name)
    firstCommit = try reader.varint()
    guard firstCommit >= 1, firstCommit <= Limits.numberMax else {
      throw MalformedError("a run file from commit \(firstCommit) on")
    }
    // Each run contains at least a root.
    let count = try reader.count(atMost: reader.remaining / Self.hashBytes, "runs")
    var runs: [StreamRun] = []
    var next = firstCommit
    for _ in 0..<count {
      let commits = try reader.count(atMost: Limits.blockEventsMax, "commits of a run")
      guard commits >= 1, next <= Limits.numberMax - UInt64(commits - 1) else {
        throw MalformedError("a run of \(commits) commits from \(next) on")
      }
      let root = try reader.digest()
      runs.append(
        StreamRun(
          replica: replica, name: name, firstCommit: CommitNumber(rawValue: next), commitCount: commits,
          body: Array(try reader.lengthAndBytes()), root: root))
      next += UInt64(commits)
    }
    self.runs = runs
    if version == Self.provenVersion { try readProof(&reader) }
    try reader.end()
  }

  // MARK: - The proof

  private func writeProof(_ signed: SignedCheckpoint, _ writer: inout ByteWriter) {
    guard let signature = signed.signature else {
      preconditionFailure("what is proven has a checkpoint that its owner signed")
    }
    writer.vault(vault)
    writer.raw(signed.key.bytes)
    writer.raw(signed.checkpoint.vault.bytes)
    writer.varint(signed.checkpoint.size)
    if signed.checkpoint.size > lastCommit { writer.raw(signed.checkpoint.root) }
    writer.raw(signature.bytes)
    for run in runs { writer.extensionRoots(run.proof?.extensionRoots ?? []) }
  }

  /// Reads what proves the runs. The signature is not verified.
  private mutating func readProof(_ reader: inout ByteReader) throws(MalformedError) {
    vault = try reader.vaultMembership()
    let key = try reader.publicKey()
    let place = try reader.vault()
    let size = try reader.varint()
    guard let last = runs.last, size >= lastCommit, size <= Limits.numberMax else {
      throw MalformedError("a proof that does not cover the commits of its file")
    }
    let root = size > lastCommit ? try reader.digest() : last.root
    guard let signature = Signature(bytes: try reader.take(Signature.byteCount)) else {
      throw MalformedError("a signature that is too short")
    }
    let checkpoint = try SignedCheckpoint(
      unverified: Checkpoint(vault: place, replica: replica, size: size, root: root), key: key,
      signature: signature)
    var extensionRoots: [UInt64: [Digest]] = [:]
    for run in runs { extensionRoots[run.lastCommit.rawValue] = try reader.extensionRoots() }
    prove(with: (checkpoint, extensionRoots))
  }
}

extension StreamRun {
  /// The number of events according to the block; `nil` if the body is not a block.
  package var eventCount: UInt64? {
    body.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      guard (try? reader.u8()) == 1, (try? reader.varint()) != nil else { return nil }
      return try? reader.varint()
    }
  }

  /// The hashes of the commits, as leaves of their stream's tree.
  package func leaves() throws(MalformedError) -> [Digest] {
    let block = try body.withBytes { (bytes) throws(MalformedError) in
      try BlockEncoding.decode(bytes, replica: replica, firstCommit: firstCommit, commitCount: commitCount)
    }
    var salts = Salts(block.secrets)
    var hasher = SHA256Hasher()
    var leaves: [Digest] = []
    for commit in block.commits { leaves.append(try commit.leafHash(salts: &salts, hasher: &hasher)) }
    return leaves
  }
}

/// The content of a checkpoint file. The format is specified in "Checkpoint files" in docs/shipping.md.
package struct ShippedCheckpointFile: Hashable {
  let replica: ReplicaID
  let key: PublicKey
  let note: SignedNote
  /// The vault of the writer's store.
  let vault: VaultMembership?

  static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x43, 0x4B, 0x50, 0x0D, 0x0A]
  static let version: UInt8 = 1
  static let bytesMax = 4 << 20

  package init(_ signed: SignedCheckpoint, vault: VaultMembership?) {
    replica = signed.checkpoint.replica
    key = signed.key
    note = signed.note
    self.vault = vault
  }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(Self.magic)
    writer.u8(Self.version)
    writer.replica(replica)
    writer.vault(vault)
    writer.raw(key.bytes)
    writer.lengthAndBytes(note.bytes)
    writer.u8(0)
    writer.raw(SHA256Hasher.digest(of: writer.bytes))
    return writer.bytes
  }

  /// Decodes a file. The signature is not verified.
  ///
  /// - Throws: `MalformedError` if the bytes are not whole, or not a checkpoint file.
  package init(_ bytes: [UInt8]) throws(MalformedError) {
    guard RunFile.contentHash(bytes, magic: Self.magic) != nil else {
      throw MalformedError("an incomplete checkpoint file")
    }
    self = try bytes.withBytes { (bytes) throws(MalformedError) in
      try ShippedCheckpointFile(content: UnsafeRawBufferPointer(rebasing: bytes.dropLast(Digest.byteCount)))
    }
  }

  private init(content: UnsafeRawBufferPointer) throws(MalformedError) {
    var reader = ByteReader(content)
    _ = try reader.take(Self.magic.count)
    let version = try reader.u8()
    guard version == Self.version else { throw MalformedError("a checkpoint file of version \(version)") }
    replica = try reader.replica()
    vault = try reader.vaultMembership()
    key = try reader.publicKey()
    note = try SignedNote(Array(try reader.lengthAndBytes()))
    guard try reader.u8() == 0 else { throw MalformedError("a checkpoint file with more than a note") }
    try reader.end()
  }
}

extension ByteReader {
  /// The roots that lead from the end of a run to a checkpoint.
  mutating func extensionRoots() throws(MalformedError) -> [Digest] {
    var roots: [Digest] = []
    for _ in 0..<(try count(atMost: remaining / Digest.byteCount, "roots")) { roots.append(try digest()) }
    return roots
  }

  mutating func vaultMembership() throws(MalformedError) -> VaultMembership? {
    let state = try u8()
    guard state <= 2 else { throw MalformedError("a vault of state \(state)") }
    guard state > 0 else { return nil }
    var membership = VaultMembership(try vault(), isEstablished: state == 2)
    for _ in 0..<(try count(atMost: VaultMembership.formerMax, "former vaults")) {
      membership.former.append(try vault())
    }
    return membership
  }

  mutating func publicKey() throws(MalformedError) -> PublicKey {
    guard let key = PublicKey(bytes: try take(PublicKey.byteCount)) else {
      throw MalformedError("a key that is too short")
    }
    return key
  }
}

extension ByteWriter {
  mutating func extensionRoots(_ roots: [Digest]) {
    varint(roots.count)
    for root in roots { raw(root) }
  }

  /// 0, or 1 or 2 for a vault that is provisional or established, its id and those of former vaults.
  mutating func vault(_ vault: VaultMembership?) {
    u8(vault.map { $0.isEstablished ? 2 : 1 } ?? 0)
    guard let vault else { return }
    raw(vault.id.bytes)
    varint(vault.former.count)
    for former in vault.former { raw(former.bytes) }
  }
}
