import HeartlogEvents
import HeartlogProofs

extension KeyEpoch {
  /// The epoch's key, as a member reads it.
  ///
  /// - Throws: `EncryptionError`: the key is that of no member, or the maker gave this member another key than it says.
  package func key(for agreementKey: AgreementKey) throws(EncryptionError) -> EpochKey {
    guard
      let recipient = ([body.recovery] + body.devices).first(where: {
        $0.member.agreementKey == agreementKey.publicKey
      })
    else { throw .wrongKey("epoch \(id) is not for this device or recovery code") }
    guard
      let shared = agreementKey.sharedSecret(with: body.ephemeralKey),
      let key = Self.wrappingKey(shared, for: recipient.member, of: body).unwrap(recipient.wrappedKey)
    else {
      throw .wrongKey("the key of epoch \(id) does not decrypt for replica \(recipient.member.replica)")
    }
    return try checked(key)
  }

  /// The epoch's key, as the owner of the recovery code reads it.
  ///
  /// - Throws: `EncryptionError`: the code is another one's, or void for this epoch.
  package func key(with code: RecoveryCode) throws(EncryptionError) -> EpochKey {
    guard recovery.publicKey == code.key.publicKey else {
      throw .wrongKey("epoch \(id) has another recovery code")
    }
    return try key(for: code.agreementKey)
  }

  /// The key of an epoch that this one follows.
  ///
  /// - Throws: `EncryptionError`: the epochs do not follow each other, or the maker wrapped another key.
  package func key(of previous: KeyEpoch, with key: EpochKey) throws(EncryptionError) -> EpochKey {
    guard key.epoch == id else { throw .wrongKey("the key of epoch \(key.epoch) is not that of epoch \(id)") }
    guard let entry = body.previous.first(where: { $0.id == previous.id }), previous.vault == vault else {
      throw .wrongKey("epoch \(id) does not follow epoch \(previous.id)")
    }
    let wrapping = EpochKey.wrappingKey(of: key.bytes, for: previous.id, in: vault)
    guard let bytes = wrapping.unwrap(entry.wrappedKey) else {
      throw .wrongKey("the key of epoch \(previous.id) does not decrypt with that of epoch \(id)")
    }
    return try previous.checked(bytes)
  }

  /// The keys of all epochs that can be reached from this one backwards, its own included. Epochs that are not among `epochs`, whose
  /// maker wrapped another key, and all that only they lead to, are left out: one maker must not take away what others wrote.
  package func keys(from key: EpochKey, among epochs: [EpochID: KeyEpoch]) -> [EpochID: EpochKey] {
    var keys = [id: key]
    var waiting = [self]
    while let epoch = waiting.popLast() {
      guard let key = keys[epoch.id] else { continue }
      for id in epoch.previous where keys[id] == nil {
        guard let previous = epochs[id], let key = try? epoch.key(of: previous, with: key) else { continue }
        keys[id] = key
        waiting.append(previous)
      }
    }
    return keys
  }

  /// Compares a decrypted key with the one that all members should have.
  private func checked(_ key: [UInt8]) throws(EncryptionError) -> EpochKey {
    guard EpochKey.commitment(to: key, in: vault) == body.commitment else {
      throw .wrongKey("the key of epoch \(id) is not the one that its maker says")
    }
    return EpochKey(epoch: id, bytes: key)
  }

  static func wrappingKey(_ shared: [UInt8], for member: Member, of body: EpochBody) -> WrappingKey {
    WrappingKey(
      bytes: KeyLabel.wrap.derive(
        from: shared, salt: body.ephemeralKey + member.agreementKey,
        body.vault.bytes + body.commitment + member.publicKey.bytes))
  }
}
