import HeartlogEvents
import HeartlogProofs

extension KeyEpoch {
  /// Makes an epoch with a new key.
  ///
  /// - Parameters:
  ///   - previous: the epochs that it follows, and their keys; none for the first epoch of a vault.
  ///   - recovery: the recovery code as a member.
  ///   - devices: the devices that have the key from now on, in any order.
  ///   - revocations: all revocations that hold, in any order.
  ///   - maker: the key of the member that makes it.
  ///   - code: the recovery code, if it is new. It signs the epoch, too.
  /// - Throws: `EncryptionError` if the epoch would break a rule, or what the key throws.
  package static func make(
    in vault: VaultID, following previous: [(epoch: KeyEpoch, key: EpochKey)], recovery: Member,
    devices: [Member], revocations: [Revocation], by maker: any DeviceKey, signedBy code: RecoveryCode?,
    using generator: inout some RandomNumberGenerator
  ) throws -> (epoch: KeyEpoch, key: EpochKey) {
    guard devices.count <= devicesMax, revocations.count <= revocationsMax, previous.count <= previousMax
    else {
      throw EncryptionError.malformed(
        "an epoch with more devices, revocations or epochs before it than it can have")
    }
    guard code.map({ $0.key.publicKey == recovery.publicKey }) ?? true else {
      throw EncryptionError.wrongKey("the recovery code is not the one of the epoch")
    }
    let key = generator.key()
    let ephemeral = AgreementKey.ephemeral(using: &generator)
    let number = previous.map(\.epoch.number).max() ?? 0
    guard number < Limits.numberMax else { throw EncryptionError.malformed("an epoch after the last one") }
    var body = EpochBody(
      vault: vault, number: number + 1,
      commitment: EpochKey.commitment(to: key, in: vault), ephemeralKey: ephemeral.publicKey,
      previous: previous.sorted { $0.epoch.id < $1.epoch.id }.map { before in
        EpochBody.Previous(
          id: before.epoch.id,
          wrappedKey: EpochKey.wrappingKey(of: key, for: before.epoch.id, in: vault).wrap(before.key.bytes))
      },
      recovery: EpochBody.Recipient(member: recovery, wrappedKey: []), devices: [],
      revocations: revocations.sorted { $0.replica < $1.replica },
      maker: maker.publicKey, isSignedTwice: code != nil && maker.publicKey != recovery.publicKey)
    body.recovery = try wrap(key, with: ephemeral, for: recovery, of: body)
    for device in devices.sorted(by: { $0.publicKey < $1.publicKey }) {
      body.devices.append(try wrap(key, with: ephemeral, for: device, of: body))
    }
    var bytes = body.bytes
    let message = KeyLabel.epoch.followed(by: bytes)
    bytes += try maker.signature(of: message).bytes
    if body.isSignedTwice, let code { bytes += try code.key.signature(of: message).bytes }
    // What was made is read as others will read it.
    let epoch = try KeyEpoch(bytes)
    if !previous.isEmpty { try epoch.checkFollows(previous.map(\.epoch)) }
    return (epoch, EpochKey(epoch: epoch.id, bytes: key))
  }

  private static func wrap(
    _ key: [UInt8], with ephemeral: AgreementKey, for member: Member, of body: EpochBody
  ) throws(EncryptionError) -> EpochBody.Recipient {
    guard let shared = ephemeral.sharedSecret(with: member.agreementKey) else {
      throw .wrongKey("replica \(member.replica) announced an agreement key that shares no secret")
    }
    return EpochBody.Recipient(
      member: member, wrappedKey: wrappingKey(shared, for: member, of: body).wrap(key))
  }
}
