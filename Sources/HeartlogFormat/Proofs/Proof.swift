/// Evidence for anybody, without a store or a network, that a device wrote an event. Source: docs/audit.md.
///
/// A value is always valid: every hash and every signature in it was checked when it was made or read. Whose key signed it, no file can show:
/// compare it once with the fingerprint on that device, and ask ``isSigned(by:)``.
public struct Proof: Hashable, Sendable {
  private let proof: EventProof

  package init(_ proof: EventProof) { self.proof = proof }

  /// Reads a proof, and checks it.
  ///
  /// - Throws: `invalid` if the bytes are not a proof of an event, or prove nothing.
  public init(_ bytes: [UInt8]) throws(HeartlogError) {
    let file: ProofFile
    do { file = try ProofFile(bytes) } catch { throw HeartlogError(.invalid, error.reason) }
    guard case .event(let proof) = file else {
      throw HeartlogError(.invalid, "a proof about a history, not of an event: \"heartlog prove\" reads it")
    }
    self.proof = proof
  }

  /// The proof as a file.
  public var bytes: [UInt8] { ProofFile.event(proof).bytes }

  /// What was written, when, and on which device; `nil` for an event of a later version of Heartlog.
  public var change: Change? { Change(at: proof.index, in: proof.commit) }

  /// The devices that have seen the signed history, and none that contradicts it, sorted.
  public var witnesses: [ReplicaID] { proof.checkpoint.witnesses.map(\.key.replica) }

  /// Whether the key that signed it is this one.
  ///
  /// - Parameter key: a public key or its fingerprint (64 hexadecimal digits), the id of its device (32), or a verifier key of C2SP signed-note.
  public func isSigned(by key: some StringProtocol) -> Bool {
    KeyReference(key)?.matches(proof.checkpoint.key) ?? false
  }
}
