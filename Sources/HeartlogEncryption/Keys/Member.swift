import HeartlogEvents
import HeartlogProofs

/// A device, or a recovery code, that may have the keys of a vault: its two public keys, one of them announced by the other.
package struct Member: Hashable, Sendable {
  /// The Ed25519 key with which it signs.
  package let publicKey: PublicKey
  /// The X25519 key to which epoch keys are wrapped.
  package let agreementKey: [UInt8]
  /// The signature that announces the agreement key in a vault.
  let announcement: Signature

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

  /// Takes over what another device announced.
  ///
  /// - Throws: `EncryptionError`: the key did not announce this in this vault.
  package init(
    publicKey: PublicKey, agreementKey: [UInt8], announcement: Signature, vault: VaultID
  ) throws(EncryptionError) {
    guard agreementKey.count == X25519.keyByteCount else {
      throw .malformed("an agreement key of \(agreementKey.count) bytes")
    }
    self.init(unverified: publicKey, agreementKey: agreementKey, announcement: announcement)
    try checkAnnouncement(in: vault)
  }

  init(unverified publicKey: PublicKey, agreementKey: [UInt8], announcement: Signature) {
    self.publicKey = publicKey
    self.agreementKey = agreementKey
    self.announcement = announcement
  }

  /// Verifies the announcement.
  ///
  /// - Throws: `EncryptionError`: the key did not announce this in this vault.
  func checkAnnouncement(in vault: VaultID) throws(EncryptionError) {
    guard publicKey.verifies(announcement, of: Self.message(agreementKey, vault)) else {
      throw .wrongSignature("replica \(replica) did not announce its agreement key in this vault")
    }
  }

  private static func message(_ agreementKey: [UInt8], _ vault: VaultID) -> [UInt8] {
    KeyLabel.member.followed(by: vault.bytes + agreementKey)
  }
}
