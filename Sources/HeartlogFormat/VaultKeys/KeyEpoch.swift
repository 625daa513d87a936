/// A key epoch: a key, and who had it from the beginning. Source: docs/encryption.md, "Key epochs".
///
/// A value of this type keeps every rule for an epoch that can be checked on its object alone, all signatures included, unless it was read
/// without the announcements.
package struct KeyEpoch: Hashable, Sendable {
  package let id: EpochID
  /// The object.
  package let bytes: [UInt8]
  let body: EpochBody

  package static let bytesMax = 1_048_576
  package static let previousMax = 16
  package static let devicesMax = 1_024
  package static let removalsMax = 4_096

  package var vault: VaultID { body.vault }
  /// The number of roots before this epoch's.
  package var generation: UInt64 { body.generation }
  /// 1 for the first epoch of a vault.
  package var number: UInt64 { body.number }
  /// The epochs that this one follows, in the order of their ids.
  package var previous: [EpochID] { body.previous.map(\.id) }
  /// The key of the recovery code that is good from this epoch on.
  package var root: Member { body.root.member }
  /// By public key.
  package var devices: [Member] { body.devices.map(\.member) }
  /// By replica.
  package var removals: [Removal] { body.removals }
  /// The key that signed the epoch: of a member, or of the root before it.
  package var maker: PublicKey { body.maker }
  /// The device on which the epoch was made, as it says.
  package var origin: ReplicaID { body.origin }
  /// When it was made by the clock of that device, in milliseconds since 1970.
  package var time: UInt64 { body.time }
  /// Whether a root made it, which may remove members and names the next root.
  package var isOfRoot: Bool { !body.devices.contains { $0.member.publicKey == maker } }

  /// Reads and verifies an object.
  ///
  /// - Throws: `MalformedError`.
  package init(_ bytes: [UInt8], verifiesAnnouncements: Bool = true) throws(MalformedError) {
    guard bytes.count <= Self.bytesMax else {
      throw MalformedError("an epoch of \(bytes.count) bytes, the most is \(Self.bytesMax)")
    }
    try ByteReader.checkStart(
      of: bytes, magic: EpochBody.magic, version: EpochBody.version, what: "key epoch")
    let (body, signedByteCount, signature) = try ByteReader.readAll(
      bytes, from: EpochBody.magic.count + 1
    ) { (reader) throws(MalformedError) in
      (try EpochBody(from: &reader), reader.offset, try reader.signature())
    }
    self.bytes = bytes
    self.body = body
    id = EpochID(of: bytes)
    try checkMaker()
    let recipients = [root] + devices
    guard Set(recipients.map(\.publicKey)).count == recipients.count,
      Set(recipients.map(\.agreementKey)).count == recipients.count
    else { throw MalformedError("an epoch with a member twice") }
    let removed = Set(removals.map(\.replica))
    if let member = recipients.first(where: { removed.contains($0.replica) }) {
      throw MalformedError("an epoch of which replica \(member.replica) is a member and removed")
    }
    guard maker.verifies(signature, of: KeyLabel.epoch.followed(by: Array(bytes.prefix(signedByteCount))))
    else { throw MalformedError("replica \(maker.replica) did not sign the epoch that is in its name") }
    if verifiesAnnouncements { for member in recipients { try member.checkAnnouncement(in: vault) } }
  }

  private func checkMaker() throws(MalformedError) {
    guard (number == 1) == body.previous.isEmpty else {
      throw MalformedError("epoch \(number), which follows \(body.previous.count) epochs")
    }
    if number == 1 {
      guard generation == 0, maker == root.publicKey, vault == VaultID(root: maker) else {
        throw MalformedError("a first epoch that is not of the root of its vault")
      }
    } else if isOfRoot {
      guard generation > 0, maker != root.publicKey else {
        throw MalformedError(
          "an epoch whose maker, replica \(maker.replica), is neither a member nor a root before it")
      }
    } else {
      guard removals.isEmpty else {
        throw MalformedError(
          "an epoch with which replica \(maker.replica), which is no root, removes members")
      }
    }
  }

  /// Returns whether the epoch was made with this public key as a recipient.
  package func isMember(_ key: PublicKey) -> Bool {
    root.publicKey == key || body.devices.contains { $0.member.publicKey == key }
  }

  /// Makes an epoch with a new key.
  ///
  /// - Parameters:
  ///   - previous: the epochs that it follows, and their keys; none for the first epoch of a vault.
  ///   - root: the root from this epoch on: a new one if the root before makes it, else the same.
  ///   - devices: the devices that have the key from now on, in any order.
  ///   - removals: whom the root removes, in any order.
  ///   - maker: the key of the member that makes it, or of the root.
  ///   - origin: the device on which it is made, and the time there in milliseconds since 1970.
  /// - Throws: `MalformedError` if the epoch would break a rule, or what the key throws.
  package static func make(
    in vault: VaultID, generation: UInt64, following previous: [(epoch: KeyEpoch, key: EpochKey)],
    root: Member, devices: [Member], removals: [Removal] = [], by maker: any DeviceKey,
    on origin: (replica: ReplicaID, time: UInt64), using generator: inout some RandomNumberGenerator
  ) throws -> (epoch: KeyEpoch, key: EpochKey) {
    guard devices.count <= devicesMax, removals.count <= removalsMax, previous.count <= previousMax else {
      throw MalformedError(
        "an epoch with more devices, removals or epochs before it than it can have")
    }
    let number = previous.map(\.epoch.number).max() ?? 0
    guard number < Limits.numberMax else { throw MalformedError("an epoch after the last one") }
    let key = generator.next32Bytes()
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

  /// The epoch's key, as a recipient reads it.
  ///
  /// - Throws: `MalformedError`: the key is that of no recipient, or the maker gave it another key than the epoch says.
  package func key(for agreementKey: AgreementKey) throws(MalformedError) -> EpochKey {
    guard
      let recipient = ([body.root] + body.devices).first(where: {
        $0.member.agreementKey == agreementKey.publicKey
      })
    else { throw MalformedError("epoch \(id) is not for this device or recovery code") }
    guard
      let key = recipient.key(
        for: agreementKey, ephemeralKey: body.ephemeralKey, vault: vault, commitment: body.commitment)
    else {
      throw MalformedError("the key of epoch \(id) does not decrypt for replica \(recipient.member.replica)")
    }
    return EpochKey(epoch: id, bytes: key)
  }

  /// The epoch's key, as a device reads it that was admitted later.
  ///
  /// - Throws: `MalformedError`: the admission is another device's or another epoch's, or gives another key than the epoch's.
  package func key(
    for agreementKey: AgreementKey, in admission: Admission
  ) throws(MalformedError) -> EpochKey {
    guard admission.epoch == id, admission.vault == vault, admission.commitment == body.commitment,
      let key = admission.recipient.key(
        for: agreementKey, ephemeralKey: admission.ephemeralKey, vault: vault, commitment: body.commitment)
    else { throw MalformedError("an admission that does not give the key of epoch \(id)") }
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

extension VaultID {
  private static let encryptedPrefix = Array("enc1".utf8)

  /// The id of the vault that begins with a root.
  package init(root: PublicKey) {
    let digest = SHA256Hasher.digest(of: KeyLabel.vault.followed(by: root.bytes))
    guard let id = VaultID(bytes: Self.encryptedPrefix + digest.bytes.prefix(12)) else {
      preconditionFailure("an id has 16 bytes")
    }
    self = id
  }

  /// Whether it is the id of an encrypted vault: it is derived from a root.
  package var isEncrypted: Bool { bytes.starts(with: Self.encryptedPrefix) }
}
