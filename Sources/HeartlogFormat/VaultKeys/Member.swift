/// A device, or a recovery code, that may have the keys of a vault: its two public keys, one of them announced by the other.
package struct Member: Hashable, Sendable {
  /// The Ed25519 key with which it signs.
  package let publicKey: PublicKey
  /// The X25519 key to which epoch keys are wrapped.
  package let agreementKey: [UInt8]
  /// The signature that announces the agreement key in a vault.
  let announcement: Signature

  package static let byteCount = PublicKey.byteCount + X25519.keyByteCount + Signature.byteCount

  /// What it announces: its keys and the signature.
  package var bytes: [UInt8] { publicKey.bytes + agreementKey + announcement.bytes }

  /// The replica that writes with the public key.
  package var replica: ReplicaID { publicKey.replica }

  /// Announces an agreement key.
  ///
  /// - Throws: what the key throws.
  package init(_ key: any DeviceKey, agreementKey: AgreementKey, vault: VaultID) throws {
    publicKey = key.publicKey
    self.agreementKey = agreementKey.publicKey
    announcement = try key.signature(of: Self.message(agreementKey.publicKey, vault))
  }

  /// Reads what another device announced.
  ///
  /// - Throws: `MalformedError`: the bytes have another length, or the key did not announce this in this vault.
  package init(_ bytes: [UInt8], vault: VaultID) throws(MalformedError) {
    self = try ByteReader.readAll(bytes) { (reader) throws(MalformedError) in
      try Member(unverifiedFrom: &reader)
    }
    try checkAnnouncement(in: vault)
  }

  init(unverifiedFrom reader: inout ByteReader) throws(MalformedError) {
    publicKey = try reader.publicKey()
    agreementKey = try reader.array(X25519.keyByteCount)
    announcement = try reader.signature()
  }

  /// Verifies the announcement.
  ///
  /// - Throws: `MalformedError`: the key did not announce this in this vault.
  func checkAnnouncement(in vault: VaultID) throws(MalformedError) {
    guard publicKey.verifies(announcement, of: Self.message(agreementKey, vault)) else {
      throw MalformedError("replica \(replica) did not announce its agreement key in this vault")
    }
  }

  private static func message(_ agreementKey: [UInt8], _ vault: VaultID) -> [UInt8] {
    KeyLabel.member.followed(by: vault.bytes + agreementKey)
  }
}
