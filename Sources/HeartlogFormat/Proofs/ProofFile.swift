/// A file that proves something about a stream, to anyone, with nothing but the file. Source: docs/audit.md.
package enum ProofFile: Hashable, Sendable {
  /// That a replica wrote an event.
  case event(EventProof)
  /// That the history of a stream was only added to.
  case history(HistoryProof)
  /// That one key signed two histories.
  case fork(ForkProof)

  /// Reads and verifies a file: every hash and every signature in it.
  ///
  /// A valid file proves what it says of the owner of the key in it. Whose key that is, it cannot say: see `KeyReference`.
  ///
  /// - Throws: `MalformedError`: the file is not a proof, or it proves nothing.
  package init(_ bytes: [UInt8]) throws(MalformedError) {
    guard bytes.count <= Self.bytesMax else {
      throw MalformedError("a file of \(bytes.count) bytes, the most for a proof is \(Self.bytesMax)")
    }
    self = try bytes.withBytes { (bytes) throws(MalformedError) in
      var reader = ByteReader(bytes)
      guard reader.remaining > Self.magic.count, try reader.take(Self.magic.count).elementsEqual(Self.magic)
      else {
        throw MalformedError("a file that is not a proof")
      }
      let proof: ProofFile
      switch try reader.u8() {
      case Kind.event: proof = .event(try EventProof(from: &reader))
      case Kind.history: proof = .history(try HistoryProof(from: &reader))
      case Kind.fork: proof = .fork(try ForkProof(from: &reader))
      case let kind: throw MalformedError("a proof of kind \(kind), of a later version")
      }
      try reader.end()
      return proof
    }
  }

  /// The file.
  package var bytes: [UInt8] {
    var writer = ByteWriter(Self.magic)
    switch self {
    case .event(let proof):
      writer.u8(Kind.event)
      proof.write(to: &writer)
    case .history(let proof):
      writer.u8(Kind.history)
      proof.write(to: &writer)
    case .fork(let proof):
      writer.u8(Kind.fork)
      proof.write(to: &writer)
    }
    return writer.bytes
  }

  /// The checkpoint that covers what is proven.
  package var checkpoint: WitnessedCheckpoint {
    switch self {
    case .event(let proof): proof.checkpoint
    case .history(let proof): proof.later
    case .fork(let proof): proof.later
    }
  }

  /// The most bytes of a file that is read: a commit as large as commits can be, and a mebibyte for the rest.
  package static let bytesMax = Limits.commitBytesMax + 1 << 20

  private static let magic: [UInt8] = [0x89] + Array("HPROOF\n".utf8)

  private enum Kind {
    static let event: UInt8 = 1
    static let history: UInt8 = 2
    static let fork: UInt8 = 3
  }
}

extension ByteReader {
  /// Reads the roots of a path.
  mutating func path() throws(MalformedError) -> [Digest] {
    var path: [Digest] = []
    // Twice 53 levels: a consistency proof may have roots on both sides of its way.
    for _ in 0..<(try count(atMost: 106, "roots of a path")) { path.append(try digest()) }
    return path
  }
}

extension ByteWriter {
  mutating func path(_ path: [Digest]) {
    varint(path.count)
    for root in path { raw(root) }
  }
}

/// A checkpoint with the keys of its witnesses, so that all its signatures are verified without a store.
package struct WitnessedCheckpoint: Hashable, Sendable {
  /// The checkpoint with all its signatures. Each is valid.
  package let signed: SignedCheckpoint
  /// Who has seen the checkpoint, and none that contradicts it, sorted by replica.
  package let witnesses: [Witness]

  /// Who has seen a checkpoint, and when.
  package struct Witness: Hashable, Sendable {
    /// The witness's key.
    package let key: PublicKey
    /// When it signed by its own clock, in seconds since 1970.
    package let seconds: UInt64
  }

  /// What is signed.
  package var checkpoint: Checkpoint { signed.checkpoint }
  /// The owner's key.
  package var key: PublicKey { signed.key }

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
    let vault = try reader.vault()
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
