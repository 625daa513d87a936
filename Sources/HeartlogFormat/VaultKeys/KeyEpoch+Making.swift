extension KeyEpoch {
  /// Makes an epoch with a new key.
  ///
  /// - Parameters:
  ///   - previous: the epochs that it follows, and their keys; none for the first epoch of a vault.
  ///   - root: the root from this epoch on: a new one if the root before makes it, else the same.
  ///   - devices: the devices that have the key from now on, in any order.
  ///   - removals: whom the root removes, in any order.
  ///   - maker: the key of the member that makes it, or of the root.
  ///   - origin: the device on which it is made, and the time there in milliseconds since 1970.
  /// - Throws: `EncryptionError` if the epoch would break a rule, or what the key throws.
  package static func make(
    in vault: VaultID, generation: UInt64, following previous: [(epoch: KeyEpoch, key: EpochKey)],
    root: Member, devices: [Member], removals: [Removal] = [], by maker: any DeviceKey,
    on origin: (replica: ReplicaID, time: UInt64), using generator: inout some RandomNumberGenerator
  ) throws -> (epoch: KeyEpoch, key: EpochKey) {
    guard devices.count <= devicesMax, removals.count <= removalsMax, previous.count <= previousMax else {
      throw EncryptionError.malformed(
        "an epoch with more devices, removals or epochs before it than it can have")
    }
    let number = previous.map(\.epoch.number).max() ?? 0
    guard number < Limits.numberMax else { throw EncryptionError.malformed("an epoch after the last one") }
    let key = generator.key()
    let ephemeral = AgreementKey.ephemeral(using: &generator)
    let body = EpochBody(
      vault: vault, generation: generation, number: number + 1,
      commitment: EpochKey.commitment(to: key, in: vault), ephemeralKey: ephemeral.publicKey,
      previous: previous.sorted { $0.epoch.id < $1.epoch.id }.map { before in
        EpochBody.Previous(
          id: before.epoch.id,
          wrappedKey: EpochKey.wrappingKey(of: key, for: before.epoch.id, in: vault).wrap(before.key.bytes))
      },
      root: try Recipient(root, wrapping: key, with: ephemeral, vault: vault),
      devices: try devices.sorted { $0.publicKey < $1.publicKey }.map {
        try Recipient($0, wrapping: key, with: ephemeral, vault: vault)
      },
      removals: removals.sorted { $0.replica < $1.replica }, origin: origin.replica, time: origin.time,
      maker: maker.publicKey)
    let bytes = body.bytes
    // What was made is read as others will read it.
    let epoch = try KeyEpoch(bytes + maker.signature(of: KeyLabel.epoch.followed(by: bytes)).bytes)
    return (epoch, EpochKey(epoch: epoch.id, bytes: key))
  }
}
