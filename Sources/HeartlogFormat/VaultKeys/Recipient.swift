/// A member, and an epoch's key as it can read it. Source: docs/encryption.md, "Key epochs".
struct Recipient: Hashable, Sendable {
  let member: Member
  let wrappedKey: [UInt8]

  var bytes: [UInt8] { member.bytes + wrappedKey }
}

extension Recipient {
  init(from reader: inout ByteReader) throws(MalformedError) {
    member = try Member(unverifiedFrom: &reader)
    wrappedKey = try reader.array(WrappingKey.wrappedByteCount)
  }

  /// Wraps the key of an epoch.
  ///
  /// - Throws: `MalformedError`: the member announced an agreement key that shares no secret.
  init(
    _ member: Member, wrapping key: [UInt8], with ephemeral: AgreementKey, vault: VaultID
  ) throws(MalformedError) {
    guard let shared = ephemeral.sharedSecret(with: member.agreementKey) else {
      throw MalformedError("replica \(member.replica) announced an agreement key that shares no secret")
    }
    self.member = member
    let commitment = EpochKey.commitment(to: key, in: vault)
    wrappedKey = Self.wrappingKey(shared, ephemeral.publicKey, member, vault, commitment).wrap(key)
  }

  /// The epoch's key, as the member reads it; nil if it is not the one of the commitment.
  func key(
    for agreementKey: AgreementKey, ephemeralKey: [UInt8], vault: VaultID, commitment: [UInt8]
  ) -> [UInt8]? {
    guard let shared = agreementKey.sharedSecret(with: ephemeralKey),
      let key = Self.wrappingKey(shared, ephemeralKey, member, vault, commitment).unwrap(wrappedKey),
      EpochKey.commitment(to: key, in: vault) == commitment
    else { return nil }
    return key
  }

  private static func wrappingKey(
    _ shared: [UInt8], _ ephemeralKey: [UInt8], _ member: Member, _ vault: VaultID, _ commitment: [UInt8]
  ) -> WrappingKey {
    WrappingKey(
      bytes: KeyLabel.wrap.derive(
        from: shared, salt: ephemeralKey + member.agreementKey,
        vault.bytes + commitment + member.publicKey.bytes))
  }
}
