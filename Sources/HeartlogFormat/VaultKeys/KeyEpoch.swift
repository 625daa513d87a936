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
  /// - Throws: `EncryptionError`.
  package init(_ bytes: [UInt8], verifiesAnnouncements: Bool = true) throws(EncryptionError) {
    guard bytes.count <= Self.bytesMax else {
      throw .malformed("an epoch of \(bytes.count) bytes, the most is \(Self.bytesMax)")
    }
    try EncryptionError.checkStart(
      of: bytes, magic: EpochBody.magic, version: EpochBody.version, what: "key epoch")
    let (body, signedByteCount, signature) = try EncryptionError.reading(
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
    else { throw .malformed("an epoch with a member twice") }
    let removed = Set(removals.map(\.replica))
    if let member = recipients.first(where: { removed.contains($0.replica) }) {
      throw .malformed("an epoch of which replica \(member.replica) is a member and removed")
    }
    guard maker.verifies(signature, of: KeyLabel.epoch.followed(by: Array(bytes.prefix(signedByteCount))))
    else { throw .wrongSignature("replica \(maker.replica) did not sign the epoch that is in its name") }
    if verifiesAnnouncements { for member in recipients { try member.checkAnnouncement(in: vault) } }
  }

  private func checkMaker() throws(EncryptionError) {
    guard (number == 1) == body.previous.isEmpty else {
      throw .malformed("epoch \(number), which follows \(body.previous.count) epochs")
    }
    if number == 1 {
      guard generation == 0, maker == root.publicKey, vault == VaultID(root: maker) else {
        throw .malformed("a first epoch that is not of the root of its vault")
      }
    } else if isOfRoot {
      guard generation > 0, maker != root.publicKey else {
        throw .malformed(
          "an epoch whose maker, replica \(maker.replica), is neither a member nor a root before it")
      }
    } else {
      guard removals.isEmpty else {
        throw .malformed("an epoch with which replica \(maker.replica), which is no root, removes members")
      }
    }
  }

  /// Returns whether the epoch was made with this public key as a recipient.
  package func isMember(_ key: PublicKey) -> Bool {
    root.publicKey == key || body.devices.contains { $0.member.publicKey == key }
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
