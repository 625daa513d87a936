/// What a person has of a public key, to compare a proof with.
public struct KeyReference: Hashable, Sendable {
  private let bytes: [UInt8]

  /// Reads a public key or its fingerprint (64 hexadecimal digits), the id of its replica (32), or a verifier key of C2SP signed-note
  /// (`NAME+ID+BASE64`); nil for any other text.
  public init?(_ text: some StringProtocol) {
    if let bytes = Hexadecimal.bytes(text.lowercased()) {
      guard bytes.count == PublicKey.byteCount || bytes.count == PublicKey.byteCount / 2 else { return nil }
      self.bytes = bytes
      return
    }
    let parts = text.split(separator: "+", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = Base64.bytes(parts[2]), bytes.count == PublicKey.byteCount + 1,
      let algorithm = NoteSignature.Algorithm(rawValue: bytes[0]),
      let key = PublicKey(bytes: bytes.dropFirst()),
      NoteSignature.isName(parts[0]),
      parts[1] == Hexadecimal.text(NoteSignature.keyID(of: key, named: String(parts[0]), algorithm))
    else { return nil }
    self.bytes = key.bytes
  }

  /// Returns whether this is that key, its fingerprint or its replica.
  public func matches(_ key: PublicKey) -> Bool {
    bytes == key.bytes || bytes == key.fingerprint.bytes || bytes == key.replica.bytes
  }
}

extension PublicKey {
  /// The verifier key of C2SP signed-note under which the checkpoints of this key's replica are signed in a vault.
  public func verifierKey(in vault: VaultID) -> String {
    let name = "\(Checkpoint.originStart)\(vault)/\(replica)"
    let id = Hexadecimal.text(NoteSignature.keyID(of: self, named: name, .ed25519))
    return "\(name)+\(id)+\(Base64.text([NoteSignature.Algorithm.ed25519.rawValue] + bytes))"
  }
}
