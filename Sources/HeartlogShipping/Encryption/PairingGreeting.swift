import Heartlog
import HeartlogFormat

/// What an end of a pairing says about itself. The format is specified in "Pairing" in docs/encryption.md.
struct PairingGreeting: Hashable {
  var isServing: Bool
  /// Whether its store has no commits.
  var isEmpty: Bool
  /// Whether a person asked the calling end to join the other's vault.
  var joins: Bool
  var replica: ReplicaID
  var name: String
  var vault: VaultMembership
  /// The vault of its keys; `nil` if it is no member.
  var epochVault: VaultID?
  /// The epochs and admissions that it has, by id; some if there are too many.
  var epochs: [EpochID]

  static let versions: ClosedRange<UInt8> = 1...1
  static let epochsMax = 4_096
  /// A bound for everything but the epochs is 595 bytes.
  static let bytesMax = 1_024 + epochsMax * EpochID.byteCount
  private static let magic: [UInt8] = Array("HLP".utf8)

  /// The end as two stores agree on a vault. That of a member counts as established: epochs are made in it, and places know it by its id.
  var side: VaultAgreement.Side {
    var membership = vault
    if epochVault != nil { membership.isEstablished = true }
    return VaultAgreement.Side(membership: membership, isEmpty: isEmpty, joins: joins)
  }
}

extension PairingGreeting {
  init(_ reader: inout ByteReader) throws {
    guard try reader.take(Self.magic.count).elementsEqual(Self.magic) else {
      throw MalformedError("a greeting that is not that of a pairing")
    }
    let version = try reader.u8()
    guard Self.versions.contains(version) else {
      throw Message.OtherVersion(version: version, known: Self.versions)
    }
    let flags = try reader.u8()
    guard flags & ~15 == 0 else { throw MalformedError("unknown flags in a greeting") }
    isServing = flags & 1 != 0
    isEmpty = flags & 2 != 0
    joins = flags & 4 != 0
    replica = try reader.replica()
    name = try reader.text()
    try ShippedName.check(name)
    guard let vault = try reader.vaultMembership() else { throw MalformedError("a pairing without a vault") }
    self.vault = vault
    epochVault = flags & 8 != 0 ? try reader.vault() : nil
    epochs = []
    for _ in 0..<(try reader.count(atMost: Self.epochsMax, "key epochs")) {
      guard let id = EpochID(bytes: try reader.take(EpochID.byteCount)) else {
        throw MalformedError("an epoch's id of another length")
      }
      guard epochs.last.map({ $0 < id }) ?? true else {
        throw MalformedError("key epochs that are not in their order")
      }
      epochs.append(id)
    }
  }

  func write(to writer: inout ByteWriter) {
    writer.raw(Self.magic)
    writer.u8(Self.versions.upperBound)
    writer.u8((isServing ? 1 : 0) | (isEmpty ? 2 : 0) | (joins ? 4 : 0) | (epochVault != nil ? 8 : 0))
    writer.replica(replica)
    writer.text(name)
    writer.vault(vault)
    if let epochVault { writer.raw(epochVault.bytes) }
    writer.varint(epochs.count)
    for id in epochs { writer.raw(id.bytes) }
  }
}
