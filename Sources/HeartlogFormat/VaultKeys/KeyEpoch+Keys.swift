extension KeyEpoch {
  /// The epoch's key, as a recipient reads it.
  ///
  /// - Throws: `EncryptionError`: the key is that of no recipient, or the maker gave it another key than the epoch says.
  package func key(for agreementKey: AgreementKey) throws(EncryptionError) -> EpochKey {
    guard
      let recipient = ([body.root] + body.devices).first(where: {
        $0.member.agreementKey == agreementKey.publicKey
      })
    else { throw .wrongKey("epoch \(id) is not for this device or recovery code") }
    guard
      let key = recipient.key(
        for: agreementKey, ephemeralKey: body.ephemeralKey, vault: vault, commitment: body.commitment)
    else {
      throw .wrongKey("the key of epoch \(id) does not decrypt for replica \(recipient.member.replica)")
    }
    return EpochKey(epoch: id, bytes: key)
  }

  /// The epoch's key, as a device reads it that was admitted later.
  ///
  /// - Throws: `EncryptionError`: the admission is another device's or another epoch's, or gives another key than the epoch's.
  package func key(
    for agreementKey: AgreementKey, in admission: Admission
  ) throws(EncryptionError) -> EpochKey {
    guard admission.epoch == id, admission.vault == vault, admission.commitment == body.commitment,
      let key = admission.recipient.key(
        for: agreementKey, ephemeralKey: admission.ephemeralKey, vault: vault, commitment: body.commitment)
    else { throw .wrongKey("an admission that does not give the key of epoch \(id)") }
    return EpochKey(epoch: id, bytes: key)
  }

  /// The keys of all epochs that can be reached from this one backwards, its own included. Epochs that are not among `epochs`, whose
  /// maker wrapped another key, and all that only they lead to, are left out: one maker must not take away what others wrote.
  package func keys(from key: EpochKey, among epochs: [EpochID: KeyEpoch]) -> [EpochID: EpochKey] {
    var keys = [id: key]
    var waiting = [self]
    while let epoch = waiting.popLast() {
      guard let key = keys[epoch.id] else { continue }
      for entry in epoch.body.previous where keys[entry.id] == nil {
        let wrapping = EpochKey.wrappingKey(of: key.bytes, for: entry.id, in: vault)
        guard let previous = epochs[entry.id], previous.vault == vault,
          let bytes = wrapping.unwrap(entry.wrappedKey),
          EpochKey.commitment(to: bytes, in: vault) == previous.body.commitment
        else { continue }
        keys[entry.id] = EpochKey(epoch: entry.id, bytes: bytes)
        waiting.append(previous)
      }
    }
    return keys
  }
}
