/// The key of an epoch, for a device that joined after it was made. Source: docs/encryption.md, "Admissions" and "Invitations".
package struct Admission: Hashable, Sendable {
  package enum Kind: Hashable, Sendable {
    /// A member gets the key of another epoch.
    case gives
    /// A person brought the device, so that the admitter vouches for it.
    case introduces
    /// The recipient is the key of an invitation, which is good until `end`, in milliseconds since 1970.
    case invites(end: UInt64)
    /// The admitter is the key of an invitation, and the recipient the device that used it.
    case accepts
    /// The recipient is the key of an invitation that is void.
    case withdraws

    fileprivate var bytes: [UInt8] {
      switch self {
      case .gives: [0]
      case .introduces: [1]
      case .invites(let end):
        {
          var writer = ByteWriter([2])
          writer.varint(end)
          return writer.bytes
        }()
      case .accepts: [3]
      case .withdraws: [4]
      }
    }

    fileprivate init(from reader: inout ByteReader) throws(MalformedError) {
      switch try reader.u8() {
      case 0: self = .gives
      case 1: self = .introduces
      case 2:
        let end = try reader.varint()
        guard end <= Self.endMax else { throw MalformedError("an invitation until \(end)") }
        self = .invites(end: end)
      case 3: self = .accepts
      case 4: self = .withdraws
      case let kind: throw MalformedError("an admission of kind \(kind)")
      }
    }

    private static let endMax: UInt64 = 1 << 53 - 1
  }

  /// The object.
  package let bytes: [UInt8]
  package let vault: VaultID
  package let epoch: EpochID
  let ephemeralKey: [UInt8]
  let commitment: [UInt8]
  let recipient: Recipient
  package let kind: Kind
  /// The key that signed it: of a member, of the root, or of an invitation.
  package let admitter: PublicKey

  package static let bytesMax = 1_024
  package static let magic: [UInt8] = [0x89] + Array("HLADM\r\n".utf8)
  private static let version: UInt8 = 1

  /// The device that is admitted, or the key of an invitation.
  package var member: Member { recipient.member }

  /// The name of the object on a carrier.
  package var objectName: String {
    switch kind {
    case .gives, .introduces, .invites: Self.objectName(of: member.replica, to: epoch)
    case .accepts: name(.accepted, admitter.bytes + member.publicKey.bytes)
    case .withdraws: name(.withdrawn, member.publicKey.bytes + admitter.bytes)
    }
  }

  private func name(_ label: KeyLabel, _ rest: [UInt8]) -> String {
    let digest = SHA256Hasher.digest(of: label.followed(by: rest))
    return "\(epoch.objectName)-\(Hexadecimal.text(digest.bytes.prefix(16)))"
  }

  /// The name of the admission of a device.
  package static func objectName(of replica: ReplicaID, to epoch: EpochID) -> String {
    "\(epoch.objectName)-\(replica)"
  }

  /// Reads and verifies an object.
  ///
  /// - Throws: `MalformedError`.
  package init(_ bytes: [UInt8]) throws(MalformedError) {
    guard bytes.count <= Self.bytesMax else {
      throw MalformedError("an admission of \(bytes.count) bytes, the most is \(Self.bytesMax)")
    }
    try ByteReader.checkStart(of: bytes, magic: Self.magic, version: Self.version, what: "admission")
    let (signedByteCount, signature): (Int, Signature)
    (vault, epoch, ephemeralKey, commitment, recipient, kind, admitter, signedByteCount, signature) =
      try ByteReader.readAll(bytes, from: Self.magic.count + 1) { (reader) throws(MalformedError) in
        let (vault, epoch) = (try reader.vault(), try reader.epochID())
        let (ephemeralKey, commitment) = (try reader.array(X25519.keyByteCount), try reader.array(32))
        let recipient = try Recipient(from: &reader)
        let kind = try Kind(from: &reader)
        let isEmpty = (ephemeralKey + recipient.wrappedKey).allSatisfy { $0 == 0 }
        guard (kind == .withdraws) == isEmpty else { throw MalformedError("a withdrawal with a key") }
        return (
          vault, epoch, ephemeralKey, commitment, recipient, kind, try reader.publicKey(), reader.offset,
          try reader.signature()
        )
      }
    self.bytes = bytes
    try member.checkAnnouncement(in: vault)
    guard
      admitter.verifies(signature, of: KeyLabel.admission.followed(by: Array(bytes.prefix(signedByteCount))))
    else {
      throw MalformedError("replica \(admitter.replica) did not sign the admission that is in its name")
    }
  }

  /// Admits a device.
  ///
  /// - Parameter admitter: the key of a member, of the root, or of an invitation.
  /// - Throws: `MalformedError`, or what the key throws.
  package init(
    of member: Member, to epoch: KeyEpoch, key: EpochKey, as kind: Kind = .introduces,
    by admitter: any DeviceKey,
    using generator: inout some RandomNumberGenerator
  ) throws {
    let ephemeral = AgreementKey.ephemeral(using: &generator)
    let recipient = try Recipient(member, wrapping: key.bytes, with: ephemeral, vault: epoch.vault)
    try self.init(
      of: recipient, ephemeral.publicKey, epoch.body.commitment, to: epoch.id, in: epoch.vault, as: kind,
      by: admitter)
  }

  /// Withdraws an invitation.
  ///
  /// - Throws: `MalformedError`, or what the key throws.
  package init(withdrawing invitation: Admission, by admitter: any DeviceKey) throws {
    let recipient = Recipient(
      member: invitation.member, wrappedKey: [UInt8](repeating: 0, count: WrappingKey.wrappedByteCount))
    try self.init(
      of: recipient, [UInt8](repeating: 0, count: X25519.keyByteCount), invitation.commitment,
      to: invitation.epoch, in: invitation.vault, as: .withdraws, by: admitter)
  }

  private init(
    of recipient: Recipient, _ ephemeralKey: [UInt8], _ commitment: [UInt8], to epoch: EpochID,
    in vault: VaultID, as kind: Kind, by admitter: any DeviceKey
  ) throws {
    let signed: [UInt8] =
      Self.magic + [Self.version] + vault.bytes + epoch.bytes + ephemeralKey + commitment + recipient.bytes
      + kind.bytes + admitter.publicKey.bytes
    // What was made is read as others will read it.
    try self.init(signed + admitter.signature(of: KeyLabel.admission.followed(by: signed)).bytes)
  }
}
