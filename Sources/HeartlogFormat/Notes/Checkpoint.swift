/// How far a stream has come: the root of its tree over its first commits, in the words of its owner. Source: C2SP tlog-checkpoint.
package struct Checkpoint: Hashable, Sendable {
  /// The vault that the stream belongs to.
  package let vault: VaultID
  /// The replica whose stream it is.
  package let replica: ReplicaID
  /// The number of commits; at least 1.
  package let size: UInt64
  /// The root of the tree over these commits.
  package let root: HeartlogDigest

  /// Creates a checkpoint.
  package init(vault: VaultID, replica: ReplicaID, size: UInt64, root: HeartlogDigest) {
    self.vault = vault
    self.replica = replica
    self.size = size
    self.root = root
  }

  static let originStart = "heartlog/"

  /// The name of the log, and of the key that signs it: `heartlog/<vault>/<replica>`.
  package var origin: String { "\(Self.originStart)\(vault)/\(replica)" }

  /// The text that is signed: origin, size and root, a line each.
  package var text: String { "\(origin)\n\(size)\n\(Base64.text(root.bytes))\n" }

  /// Parses the text of a note. Lines of extensions, which C2SP allows, are not allowed in a Heartlog checkpoint.
  ///
  /// - Throws: `MalformedError`.
  package init(text: String) throws(MalformedError) {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    let names = lines[0].split(separator: "/", omittingEmptySubsequences: false)
    guard lines.count == 4, names.count == 3, let vault = VaultID(names[1]),
      let replica = ReplicaID(String(names[2])),
      let size = UInt64(lines[1]), (1...Limits.numberMax).contains(size), let root = Base64.bytes(lines[2]),
      root.count == 32
    else { throw MalformedError("a note that is not a checkpoint of a stream") }
    self.init(vault: vault, replica: replica, size: size, root: Digest(root))
    // Any other spelling of the same numbers would be another text.
    guard self.text == text else { throw MalformedError("a note that is not a checkpoint of a stream") }
  }
}

/// A checkpoint with the signature of its owner and those of witnesses. The key is part of it, so it can be verified alone.
package struct SignedCheckpoint: Hashable, Sendable {
  /// What is signed.
  package let checkpoint: Checkpoint
  /// The owner's key. Its hash is the replica's id.
  package let key: PublicKey
  /// The text with all signatures.
  package private(set) var note: SignedNote

  /// The most cosignatures that are kept.
  package static let cosignaturesMax = 64

  /// Signs a checkpoint.
  ///
  /// - Throws: what the key throws.
  package init(_ checkpoint: Checkpoint, signedBy key: any DeviceKey) throws {
    precondition(key.publicKey.replica == checkpoint.replica, "a checkpoint is signed by its owner")
    try self.init(
      unverified: checkpoint, key: key.publicKey,
      signature: try key.signature(of: Array(checkpoint.text.utf8)))
  }

  /// Accepts a note with a valid signature of the key from which the replica's id is made.
  ///
  /// - Throws: `MalformedError`: the note is not a checkpoint, or its owner did not sign it.
  package init(_ note: SignedNote, key: PublicKey) throws(MalformedError) {
    try self.init(unverified: note, key: key)
    guard let signature = note.signature(of: key, named: checkpoint.origin) else {
      throw MalformedError("a checkpoint that replica \(checkpoint.replica) did not sign")
    }
    // Lines that mean nothing here are not kept: a note with too many could not be read again.
    var isOwnerSeen = false
    var witnesses = 0
    self.note.removeSignatures { line in
      if Cosignature(line) != nil {
        witnesses += 1
        return witnesses > Self.cosignaturesMax
      }
      defer { isOwnerSeen = isOwnerSeen || line.signature == signature.bytes }
      return isOwnerSeen || line.signature != signature.bytes
    }
  }

  /// Accepts a note that was verified before it was kept. The key is compared with the replica's id, the signature is not verified.
  ///
  /// - Throws: `MalformedError`.
  package init(unverified note: SignedNote, key: PublicKey) throws(MalformedError) {
    checkpoint = try Checkpoint(text: note.text)
    guard key.replica == checkpoint.replica else {
      throw MalformedError("a checkpoint with a key that is not the one of replica \(checkpoint.replica)")
    }
    self.key = key
    self.note = note
  }

  /// Makes the note of a checkpoint that only its owner signed. The signature is not verified.
  ///
  /// - Throws: `MalformedError` if the key is not the one of the replica.
  package init(unverified checkpoint: Checkpoint, key: PublicKey, signature: Signature) throws(MalformedError)
  {
    let line = NoteSignature(of: key, named: checkpoint.origin, .ed25519, signature.bytes)
    try self.init(unverified: SignedNote(text: checkpoint.text, signatures: [line]), key: key)
  }

  /// The signature in the owner's name, unverified; `nil` if there is none.
  package var signature: Signature? {
    note.signatures.first { $0.isOf(key, named: checkpoint.origin, .ed25519) }
      .flatMap { Signature(bytes: $0.signature) }
  }

  /// Whether the owner signed the note.
  package var isSigned: Bool { note.isSigned(by: key, named: checkpoint.origin) }

  /// The witnesses' statements, unverified.
  package var cosignatures: [Cosignature] { note.cosignatures }

  /// Adds the statement of a witness that it has seen this checkpoint. A second one of the same witness says nothing more and is not
  /// added.
  ///
  /// - Throws: what the key throws.
  package mutating func cosign(with key: any DeviceKey, seconds: UInt64) throws {
    let witness = key.publicKey.replica
    guard cosignatures.count < Self.cosignaturesMax, !cosignatures.contains(where: { $0.witness == witness })
    else { return }
    let signature = try key.signature(of: Cosignature.message(note.text, seconds: seconds))
    note.add(Cosignature(key.publicKey, seconds: seconds, signature).line)
  }

  /// Removes statements in the name of a witness that its key did not sign.
  package mutating func removeInvalidCosignatures(of key: PublicKey) {
    let note = note
    self.note.removeSignatures { line in
      guard let cosignature = Cosignature(line), cosignature.witness == key.replica else { return false }
      return !cosignature.isValid(for: note, key: key)
    }
  }

  /// Takes over the cosignatures of another copy of the same checkpoint, one of each witness.
  ///
  /// - Returns: whether there was a new one.
  @discardableResult
  package mutating func merge(_ other: SignedCheckpoint) -> Bool {
    guard other.checkpoint == checkpoint else { return false }
    let before = note
    for line in other.note.signatures {
      guard let cosignature = Cosignature(line), cosignatures.count < Self.cosignaturesMax,
        !cosignatures.contains(where: { $0.witness == cosignature.witness })
      else { continue }
      note.add(line)
    }
    return note != before
  }
}

/// The statement of a witness: it has seen this checkpoint, and none that contradicts it. Source: C2SP tlog-cosignature, version 1.
package struct Cosignature: Hashable, Sendable {
  /// The witness's replica.
  package let witness: ReplicaID
  /// When it signed by its own clock, in seconds since 1970.
  package let seconds: UInt64
  /// The signature of time and text.
  let signature: Signature
  /// The name and id of the key.
  let line: NoteSignature

  /// The name of a witness's key.
  static func name(of witness: ReplicaID) -> String { "\(Checkpoint.originStart)\(witness)" }

  /// The statement of the owner of a key.
  init(_ key: PublicKey, seconds: UInt64, _ signature: Signature) {
    witness = key.replica
    self.seconds = seconds
    self.signature = signature
    let time = (0..<8).map { UInt8(truncatingIfNeeded: seconds >> UInt64(8 * (7 - $0))) }
    line = NoteSignature(of: key, named: Self.name(of: witness), .cosignature, time + signature.bytes)
  }

  /// Reads a line of a note; nil if it is not the cosignature of a replica. The signature is not verified.
  init?(_ line: NoteSignature) {
    guard line.name.hasPrefix(Checkpoint.originStart),
      let witness = ReplicaID(line.name.dropFirst(Checkpoint.originStart.count)),
      line.name == Self.name(of: witness), line.signature.count == 8 + Signature.byteCount,
      let signature = Signature(bytes: line.signature.dropFirst(8))
    else { return nil }
    self.witness = witness
    self.line = line
    self.signature = signature
    seconds = line.signature.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Returns whether the key of the witness signed this for a note.
  package func isValid(for note: SignedNote, key: PublicKey) -> Bool {
    key.replica == witness && line.isOf(key, named: line.name, .cosignature)
      && key.verifies(signature, of: Self.message(note.text, seconds: seconds))
  }

  static func message(_ text: String, seconds: UInt64) -> [UInt8] {
    Array("cosignature/v1\ntime \(seconds)\n\(text)".utf8)
  }
}

extension SignedNote {
  /// The cosignatures of replicas below the note, unverified.
  package var cosignatures: [Cosignature] { signatures.compactMap(Cosignature.init) }
}
