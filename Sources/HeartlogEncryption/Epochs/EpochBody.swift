import HeartlogEvents
import HeartlogProofs

/// What an epoch's object says, in the order in which it is laid out. Its signatures follow.
struct EpochBody: Hashable, Sendable {
  /// An epoch before, and its key as the holders of the later one can read it.
  struct Previous: Hashable, Sendable {
    let id: EpochID
    let wrappedKey: [UInt8]
  }

  /// A member, and the key as it can read it.
  struct Recipient: Hashable, Sendable {
    let member: Member
    let wrappedKey: [UInt8]
  }

  var vault: VaultID
  var number: UInt64
  var commitment: [UInt8]
  var ephemeralKey: [UInt8]
  var previous: [Previous]
  var recovery: Recipient
  var devices: [Recipient]
  var revocations: [Revocation]
  var maker: PublicKey
  /// Whether the recovery code signs besides the maker.
  var isSignedTwice: Bool

  static let magic: [UInt8] = [0x89] + Array("HLKEY\r\n".utf8)
  static let version: UInt8 = 1

  /// The bytes that are signed.
  var bytes: [UInt8] {
    var writer = ByteWriter(Self.magic + [Self.version] + vault.bytes)
    writer.varint(number)
    writer.bytes += commitment + ephemeralKey
    writer.varint(UInt64(previous.count))
    for previous in previous { writer.bytes += previous.id.bytes + previous.wrappedKey }
    write(recovery, to: &writer)
    writer.varint(UInt64(devices.count))
    for device in devices { write(device, to: &writer) }
    writer.varint(UInt64(revocations.count))
    for revocation in revocations {
      writer.bytes += revocation.replica.bytes
      writer.varint(revocation.size)
      writer.bytes += revocation.root?.bytes ?? []
    }
    writer.bytes += maker.bytes + [isSignedTwice ? 1 : 0]
    return writer.bytes
  }

  private func write(_ recipient: Recipient, to writer: inout ByteWriter) {
    writer.bytes += recipient.member.bytes + recipient.wrappedKey
  }

  /// Reads the fields up to the signatures. Checks lengths, counts and order, and verifies nothing.
  init(from reader: inout ByteReader) throws(EncryptionError) {
    let header = try EncryptionError.reading { () throws(MalformedError) in
      try reader.array(Self.magic.count + 1)
    }
    guard header.starts(with: Self.magic) else { throw .malformed("bytes that are not a key epoch") }
    guard header.last == Self.version else { throw .laterVersion(header.last ?? 0) }
    do throws(MalformedError) { try self.init(fieldsFrom: &reader) } catch { throw .malformed(error.reason) }
  }

  private init(fieldsFrom reader: inout ByteReader) throws(MalformedError) {
    guard let vault = VaultID(bytes: try reader.take(16)) else {
      throw MalformedError("a vault's id of another length")
    }
    self.vault = vault
    number = try reader.varint()
    guard (1...Limits.numberMax).contains(number) else { throw MalformedError("epoch \(number)") }
    commitment = try reader.array(32)
    ephemeralKey = try reader.array(X25519.keyByteCount)

    previous = []
    for _ in 0..<(try reader.count(atMost: KeyEpoch.previousMax, "epochs before an epoch")) {
      guard let id = EpochID(bytes: try reader.take(EpochID.byteCount)) else {
        throw MalformedError("an epoch's id of another length")
      }
      guard previous.last.map({ $0.id < id }) ?? true else {
        throw MalformedError("epochs before an epoch that are not in their order")
      }
      previous.append(Previous(id: id, wrappedKey: try reader.array(WrappingKey.wrappedByteCount)))
    }

    recovery = try Self.recipient(from: &reader)
    devices = []
    for _ in 0..<(try reader.count(atMost: KeyEpoch.devicesMax, "devices of an epoch")) {
      let device = try Self.recipient(from: &reader)
      guard devices.last.map({ $0.member.publicKey < device.member.publicKey }) ?? true else {
        throw MalformedError("devices of an epoch that are not in their order")
      }
      devices.append(device)
    }
    guard !devices.isEmpty else { throw MalformedError("an epoch without devices") }

    revocations = []
    for _ in 0..<(try reader.count(atMost: KeyEpoch.revocationsMax, "revocations of an epoch")) {
      let replica = try reader.replica()
      guard revocations.last.map({ $0.replica < replica }) ?? true else {
        throw MalformedError("revocations of an epoch that are not in their order")
      }
      let size = try reader.varint()
      guard size <= Limits.numberMax else { throw MalformedError("a revocation after commit \(size)") }
      revocations.append(
        Revocation(replica: replica, size: size, root: size > 0 ? try reader.digest() : nil))
    }

    maker = try reader.publicKey()
    switch try reader.u8() {
    case 0: isSignedTwice = false
    case 1: isSignedTwice = true
    case let other: throw MalformedError("\(other) where an epoch says whether its recovery code signed")
    }
  }

  private static func recipient(from reader: inout ByteReader) throws(MalformedError) -> Recipient {
    Recipient(
      member: try Member(unverifiedFrom: &reader),
      wrappedKey: try reader.array(WrappingKey.wrappedByteCount))
  }

  init(
    vault: VaultID, number: UInt64, commitment: [UInt8], ephemeralKey: [UInt8], previous: [Previous],
    recovery: Recipient, devices: [Recipient], revocations: [Revocation], maker: PublicKey,
    isSignedTwice: Bool
  ) {
    self.vault = vault
    self.number = number
    self.commitment = commitment
    self.ephemeralKey = ephemeralKey
    self.previous = previous
    self.recovery = recovery
    self.devices = devices
    self.revocations = revocations
    self.maker = maker
    self.isSignedTwice = isSignedTwice
  }
}

/// A device whose stream ends for a vault.
package struct Revocation: Hashable, Sendable {
  package let replica: ReplicaID
  /// The number of commits that count.
  package let size: UInt64
  /// The root after them; nil if none counts.
  package let root: Digest?

  /// Creates a revocation.
  ///
  /// - Precondition: there is a root exactly if the size is not 0.
  package init(replica: ReplicaID, size: UInt64, root: Digest?) {
    precondition((size > 0) == (root != nil) && size <= Limits.numberMax)
    self.replica = replica
    self.size = size
    self.root = root
  }
}

/// By the bytes of the key.
func < (a: PublicKey, b: PublicKey) -> Bool { a.bytes.lexicographicallyPrecedes(b.bytes) }

extension ByteReader {
  /// Reads bytes, copied. The count is one of the format's constants.
  mutating func array(_ count: Int) throws(MalformedError) -> [UInt8] { Array(try take(count)) }

  mutating func publicKey() throws(MalformedError) -> PublicKey {
    guard let key = PublicKey(bytes: try take(PublicKey.byteCount)) else {
      throw MalformedError("a public key of another length")
    }
    return key
  }

  mutating func signature() throws(MalformedError) -> Signature {
    guard let signature = Signature(bytes: try take(Signature.byteCount)) else {
      throw MalformedError("a signature of another length")
    }
    return signature
  }
}
