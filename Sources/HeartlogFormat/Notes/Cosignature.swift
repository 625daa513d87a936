/// The statement of a witness: it has seen this checkpoint, and none that contradicts it. Source: C2SP tlog-cosignature, version 1.
public struct Cosignature: Hashable, Sendable {
  /// The witness's replica.
  public let witness: ReplicaID
  /// When it signed by its own clock, in seconds since 1970.
  public let seconds: UInt64
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
  public func isValid(for note: SignedNote, key: PublicKey) -> Bool {
    key.replica == witness && line.isOf(key, named: line.name, .cosignature)
      && key.verifies(signature, of: Self.message(note.text, seconds: seconds))
  }

  static func message(_ text: String, seconds: UInt64) -> [UInt8] {
    Array("cosignature/v1\ntime \(seconds)\n\(text)".utf8)
  }
}

extension SignedNote {
  /// The note without the cosignatures of replicas.
  var withoutCosignatures: SignedNote {
    var bare = self
    bare.removeSignatures { Cosignature($0) != nil }
    return bare
  }

  /// The cosignatures of replicas below the note, unverified.
  public var cosignatures: [Cosignature] { signatures.compactMap(Cosignature.init) }

  /// Adds the cosignature of a witness. A second one of the same witness says nothing more and is not added.
  mutating func cosign(with key: any DeviceKey, seconds: UInt64) throws {
    let witness = key.publicKey.replica
    guard !cosignatures.contains(where: { $0.witness == witness }) else { return }
    let signature = try key.signature(of: Cosignature.message(text, seconds: seconds))
    add(Cosignature(key.publicKey, seconds: seconds, signature).line)
  }
}
