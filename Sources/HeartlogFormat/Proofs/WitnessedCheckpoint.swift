/// A checkpoint with the keys of its witnesses, so that all its signatures are verified without a store.
public struct WitnessedCheckpoint: Hashable, Sendable {
  /// The checkpoint with all its signatures. Each is valid.
  public let signed: SignedCheckpoint
  /// Who has seen the checkpoint, and none that contradicts it, sorted by replica.
  public let witnesses: [Witness]

  /// Who has seen a checkpoint, and when.
  public struct Witness: Hashable, Sendable {
    /// The witness's key.
    public let key: PublicKey
    /// When it signed by its own clock, in seconds since 1970.
    public let seconds: UInt64
  }

  /// What is signed.
  public var checkpoint: Checkpoint { signed.checkpoint }
  /// The owner's key.
  public var key: PublicKey { signed.key }

  /// Keeps the witnesses whose keys are known and whose signatures are valid, and leaves out all other signatures.
  ///
  /// - Parameter keys: Returns the key of a replica; nil if it is not known.
  /// - Throws: `MalformedError` if the owner did not sign the checkpoint.
  package init<E: Error>(_ signed: SignedCheckpoint, keys: (ReplicaID) throws(E) -> PublicKey?) throws {
    var witnesses: [(Witness, Signature)] = []
    for cosignature in signed.cosignatures {
      guard let key = try keys(cosignature.witness), cosignature.isValid(for: signed.note, key: key) else {
        continue
      }
      witnesses.append((Witness(key: key, seconds: cosignature.seconds), cosignature.signature))
    }
    guard let signature = signed.note.signature(of: signed.key, named: signed.checkpoint.origin) else {
      throw MalformedError("a checkpoint that replica \(signed.checkpoint.replica) did not sign")
    }
    witnesses.sort { $0.0.key.replica < $1.0.key.replica }
    try self.init(signed.checkpoint, signed.key, signature, witnesses)
  }

  /// Verifies all signatures. Witnesses are in the order of their replicas, as in a note.
  private init(
    _ checkpoint: Checkpoint, _ key: PublicKey, _ signature: Signature, _ witnesses: [(Witness, Signature)]
  ) throws(MalformedError) {
    var note = try SignedNote(text: checkpoint.text, signatures: [])
    note.add(NoteSignature(of: key, named: checkpoint.origin, .ed25519, signature.bytes))
    var last: ReplicaID?
    for (witness, signature) in witnesses {
      let cosignature = Cosignature(witness.key, seconds: witness.seconds, signature)
      guard witness.key != key, last.map({ $0 < cosignature.witness }) ?? true,
        cosignature.isValid(for: note, key: witness.key)
      else { throw MalformedError("a checkpoint that witness \(witness.key.replica) did not sign") }
      note.add(cosignature.line)
      last = cosignature.witness
    }
    signed = try SignedCheckpoint(note, key: key)
    self.witnesses = witnesses.map { $0.0 }
  }

  init(from reader: inout ByteReader) throws(MalformedError) {
    let key = try reader.publicKey()
    guard let vault = VaultID(bytes: try reader.take(16)) else {
      throw MalformedError("a vault without an id")
    }
    let size = try reader.varint()
    let checkpoint = Checkpoint(vault: vault, replica: key.replica, size: size, root: try reader.digest())
    guard (1...Limits.numberMax).contains(size) else {
      throw MalformedError("a checkpoint of \(size) commits")
    }
    let signature = try reader.signature()
    var witnesses: [(Witness, Signature)] = []
    for _ in 0..<(try reader.count(atMost: SignedCheckpoint.cosignaturesMax, "witnesses")) {
      let witness = Witness(key: try reader.publicKey(), seconds: try reader.u64())
      witnesses.append((witness, try reader.signature()))
    }
    try self.init(checkpoint, key, signature, witnesses)
  }

  func write(to writer: inout ByteWriter) {
    guard let signature = signed.note.signature(of: key, named: checkpoint.origin) else {
      preconditionFailure("a checkpoint that was verified")
    }
    writer.raw(key.bytes)
    writer.raw(checkpoint.vault.bytes)
    writer.varint(checkpoint.size)
    writer.raw(checkpoint.root)
    writer.raw(signature.bytes)
    writer.varint(witnesses.count)
    for (witness, cosignature) in zip(witnesses, signed.cosignatures) {
      writer.raw(witness.key.bytes)
      writer.u64(witness.seconds)
      writer.raw(cosignature.signature.bytes)
    }
  }
}
