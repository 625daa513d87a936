import Heartlog
import HeartlogFormat

/// The content of a checkpoint file: what a run file beside it needs to be proven, or a checkpoint alone. The format is specified in
/// "Checkpoint files" in docs/shipping.md.
package struct CheckpointFile: Hashable {
  let replica: ReplicaID
  let key: PublicKey
  let note: SignedNote
  /// The vault of the writer's store.
  let vault: VaultMembership?
  /// By last commit of a run: the roots that lead from there to the checkpoint.
  let extensionRoots: [UInt64: [Digest]]

  static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x43, 0x4B, 0x50, 0x0D, 0x0A]
  static let version: UInt8 = 1
  static let ending = ".checkpoint"
  static let bytesMax = 4 << 20
  private static let hashBytes = 32

  package init(_ signed: SignedCheckpoint, vault: VaultMembership?, extensionRoots: [UInt64: [Digest]] = [:])
  {
    replica = signed.checkpoint.replica
    key = signed.key
    note = signed.note
    self.vault = vault
    self.extensionRoots = extensionRoots
  }

  package func encoded() -> [UInt8] {
    var writer = ByteWriter()
    writer.raw(Self.magic)
    writer.u8(Self.version)
    writer.replica(replica)
    writer.vault(vault)
    writer.raw(key.bytes)
    writer.lengthAndBytes(note.bytes)
    writer.varint(extensionRoots.count)
    for (commit, roots) in extensionRoots.sorted(by: { $0.key < $1.key }) {
      writer.varint(commit)
      writer.extensionRoots(roots)
    }
    writer.raw(SHA256Hasher.digest(of: writer.bytes))
    return writer.bytes
  }

  /// Decodes a file. The signature is not verified.
  ///
  /// - Throws: `MalformedError` if the bytes are not whole, or not a checkpoint file.
  package init(_ bytes: [UInt8]) throws(MalformedError) {
    guard bytes.count > Self.magic.count + Self.hashBytes, bytes.starts(with: Self.magic),
      SHA256Hasher.digest(of: Array(bytes.dropLast(Self.hashBytes))).bytes
        == Array(bytes.suffix(Self.hashBytes))
    else { throw MalformedError("an incomplete checkpoint file") }
    self = try bytes.withBytes { (bytes) throws(MalformedError) in
      try CheckpointFile(content: UnsafeRawBufferPointer(rebasing: bytes.dropLast(Self.hashBytes)))
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
    var extensionRoots: [UInt64: [Digest]] = [:]
    for _ in 0..<(try reader.count(atMost: reader.remaining / 2, "runs")) {
      let commit = try reader.varint()
      extensionRoots[commit] = try reader.extensionRoots()
    }
    self.extensionRoots = extensionRoots
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

  mutating func vault() throws(MalformedError) -> VaultID {
    guard let vault = VaultID(bytes: try take(16)) else { throw MalformedError("a vault that is too short") }
    return vault
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
