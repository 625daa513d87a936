/// The key of an epoch, for a device that joined after it was made. Source: docs/encryption.md, "Admissions".
package struct Admission: Hashable, Sendable {
  /// The object.
  package let bytes: [UInt8]
  package let vault: VaultID
  package let epoch: EpochID
  let ephemeralKey: [UInt8]
  let commitment: [UInt8]
  let recipient: Recipient
  /// Whether a person brought the device, so that the admitter vouches for it; false for a key that is given to a member.
  package let introduces: Bool
  /// The key that signed it: of a member, or of the root.
  package let admitter: PublicKey

  package static let bytesMax = 1_024
  package static let magic: [UInt8] = [0x89] + Array("HLADM\r\n".utf8)
  private static let version: UInt8 = 1

  /// The device that is admitted.
  package var member: Member { recipient.member }

  /// The name of the object on a carrier.
  package var objectName: String { Self.objectName(of: member.replica, to: epoch) }

  /// The name of the admission of a device.
  package static func objectName(of replica: ReplicaID, to epoch: EpochID) -> String {
    "\(epoch.objectName)-\(replica)"
  }

  /// Reads and verifies an object.
  ///
  /// - Throws: `EncryptionError`.
  package init(_ bytes: [UInt8]) throws(EncryptionError) {
    guard bytes.count <= Self.bytesMax else {
      throw .malformed("an admission of \(bytes.count) bytes, the most is \(Self.bytesMax)")
    }
    try EncryptionError.checkStart(of: bytes, magic: Self.magic, version: Self.version, what: "admission")
    let (signedByteCount, signature): (Int, Signature)
    (vault, epoch, ephemeralKey, commitment, recipient, introduces, admitter, signedByteCount, signature) =
      try EncryptionError.reading(bytes, from: Self.magic.count + 1) { (reader) throws(MalformedError) in
        let (vault, epoch) = (try reader.vault(), try reader.epochID())
        let (ephemeralKey, commitment) = (try reader.array(X25519.keyByteCount), try reader.array(32))
        let recipient = try Recipient(from: &reader)
        let introduces = try reader.u8()
        guard introduces <= 1 else { throw MalformedError("an admission of kind \(introduces)") }
        return (
          vault, epoch, ephemeralKey, commitment, recipient, introduces == 1, try reader.publicKey(),
          reader.offset, try reader.signature()
        )
      }
    self.bytes = bytes
    try member.checkAnnouncement(in: vault)
    guard
      admitter.verifies(signature, of: KeyLabel.admission.followed(by: Array(bytes.prefix(signedByteCount))))
    else {
      throw .wrongSignature("replica \(admitter.replica) did not sign the admission that is in its name")
    }
  }

  /// Admits a device.
  ///
  /// - Parameters:
  ///   - introduces: whether a person brought the device; false to give the key to a member.
  ///   - admitter: the key of a member, or of the root.
  /// - Throws: `EncryptionError`, or what the key throws.
  package init(
    of member: Member, to epoch: KeyEpoch, key: EpochKey, introducing introduces: Bool = true,
    by admitter: any DeviceKey,
    using generator: inout some RandomNumberGenerator
  ) throws {
    let ephemeral = AgreementKey.ephemeral(using: &generator)
    let recipient = try Recipient(member, wrapping: key.bytes, with: ephemeral, vault: epoch.vault)
    let signed: [UInt8] =
      Self.magic + [Self.version] + epoch.vault.bytes + epoch.id.bytes + ephemeral.publicKey
      + epoch.body.commitment + recipient.bytes + [introduces ? 1 : 0] + admitter.publicKey.bytes
    // What was made is read as others will read it.
    try self.init(signed + admitter.signature(of: KeyLabel.admission.followed(by: signed)).bytes)
  }
}
