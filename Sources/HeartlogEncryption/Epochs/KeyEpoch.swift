import HeartlogEvents
import HeartlogProofs

/// A key epoch: who has its key, who is revoked, and which epochs it follows. Source: docs/encryption.md, "Key epochs".
///
/// A value of this type keeps every rule for an epoch that can be checked on its object alone, all signatures included.
package struct KeyEpoch: Hashable, Sendable {
  package let id: EpochID
  /// The object.
  package let bytes: [UInt8]
  let body: EpochBody

  package static let bytesMax = 1_048_576
  package static let previousMax = 16
  package static let devicesMax = 1_024
  package static let revocationsMax = 4_096

  package var vault: VaultID { body.vault }
  /// 1 for the first epoch of a vault.
  package var number: UInt64 { body.number }
  /// The epochs that this one follows, in the order of their ids.
  package var previous: [EpochID] { body.previous.map(\.id) }
  /// The recovery code.
  package var recovery: Member { body.recovery.member }
  /// By public key.
  package var devices: [Member] { body.devices.map(\.member) }
  /// By replica.
  package var revocations: [Revocation] { body.revocations }
  /// The member that made the epoch.
  package var maker: PublicKey { body.maker }
  /// Whether the recovery code vouches for the epoch.
  package var isSignedByRecovery: Bool { body.isSignedTwice || maker == recovery.publicKey }

  /// Reads and verifies an object.
  ///
  /// - Throws: `EncryptionError`.
  package init(_ bytes: [UInt8]) throws(EncryptionError) {
    guard bytes.count <= Self.bytesMax else {
      throw .malformed("an epoch of \(bytes.count) bytes, the most is \(Self.bytesMax)")
    }
    let (body, signedByteCount, signatures) = try bytes.withBytes { (bytes) throws(EncryptionError) in
      var reader = ByteReader(bytes)
      let body = try EpochBody(from: &reader)
      let signedByteCount = reader.offset
      var signatures: [Signature] = []
      do throws(MalformedError) {
        for _ in 0..<(body.isSignedTwice ? 2 : 1) { signatures.append(try reader.signature()) }
        try reader.end()
      } catch { throw .malformed(error.reason) }
      return (body, signedByteCount, signatures)
    }
    self.bytes = bytes
    self.body = body
    id = EpochID(of: bytes)
    try checkMembers()
    let message = KeyLabel.epoch.followed(by: Array(bytes.prefix(signedByteCount)))
    guard maker.verifies(signatures[0], of: message) else {
      throw .wrongSignature("replica \(maker.replica) did not sign the epoch that is in its name")
    }
    if signatures.count == 2 {
      guard maker != recovery.publicKey else { throw .malformed("an epoch that its maker signed twice") }
      guard recovery.publicKey.verifies(signatures[1], of: message) else {
        throw .wrongSignature("the recovery code did not sign the epoch")
      }
    }
    for member in members { try member.checkAnnouncement(in: vault) }
  }

  /// All members, the recovery code first.
  package var members: [Member] { [recovery] + devices }

  /// Returns whether the owner of a public key has the epoch's key.
  package func isMember(_ key: PublicKey) -> Bool {
    recovery.publicKey == key || body.devices.contains { $0.member.publicKey == key }
  }

  private func checkMembers() throws(EncryptionError) {
    let members = members
    guard Set(members.map(\.publicKey)).count == members.count,
      Set(members.map(\.agreementKey)).count == members.count
    else { throw .malformed("an epoch with a member twice") }
    guard isMember(maker) else {
      throw .malformed("an epoch whose maker, replica \(maker.replica), is no member")
    }
    let revoked = Set(revocations.map(\.replica))
    if let member = members.first(where: { revoked.contains($0.replica) }) {
      throw .malformed("an epoch of which replica \(member.replica) is a member and revoked")
    }
    guard (number == 1) == body.previous.isEmpty else {
      throw .malformed("epoch \(number), which follows \(body.previous.count) epochs")
    }
    guard number > 1 || isSignedByRecovery else {
      throw .malformed("a first epoch that the recovery code did not sign")
    }
  }
}
