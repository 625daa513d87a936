/// What an epoch's object says, in the order in which it is laid out. Its signatures follow.
struct EpochBody: Hashable, Sendable {
  /// An epoch before, and its key as the holders of the later one can read it.
  struct Previous: Hashable, Sendable {
    let id: EpochID
    let wrappedKey: [UInt8]
  }

  var vault: VaultID
  /// The number of roots before this one.
  var generation: UInt64
  var number: UInt64
  var commitment: [UInt8]
  var ephemeralKey: [UInt8]
  var previous: [Previous]
  /// The root from this epoch on.
  var root: Recipient
  var devices: [Recipient]
  var removals: [Removal]
  /// The device on which it was made, and the time there.
  var origin: ReplicaID
  var time: UInt64
  var maker: PublicKey

  static let magic: [UInt8] = [0x89] + Array("HLKEY\r\n".utf8)
  static let version: UInt8 = 1

  /// The bytes that are signed.
  var bytes: [UInt8] {
    var writer = ByteWriter(Self.magic + [Self.version] + vault.bytes)
    writer.varint(generation)
    writer.varint(number)
    writer.bytes += commitment + ephemeralKey
    writer.varint(UInt64(previous.count))
    for previous in previous { writer.bytes += previous.id.bytes + previous.wrappedKey }
    writer.bytes += root.bytes
    writer.varint(UInt64(devices.count))
    for device in devices { writer.bytes += device.bytes }
    writer.varint(UInt64(removals.count))
    for removal in removals {
      writer.bytes += removal.replica.bytes
      writer.varint(removal.size)
      writer.bytes += removal.root?.bytes ?? []
    }
    writer.bytes += origin.bytes
    writer.varint(time)
    writer.bytes += maker.bytes
    return writer.bytes
  }
}

extension EpochBody {
  /// Reads the fields between the version and the signature. Checks lengths, counts and order, and verifies nothing.
  init(from reader: inout ByteReader) throws(MalformedError) {
    vault = try reader.vault()
    generation = try reader.varint()
    guard generation <= Limits.numberMax else { throw MalformedError("generation \(generation)") }
    number = try reader.varint()
    guard (1...Limits.numberMax).contains(number) else { throw MalformedError("epoch \(number)") }
    commitment = try reader.array(32)
    ephemeralKey = try reader.array(X25519.keyByteCount)

    previous = []
    for _ in 0..<(try reader.count(atMost: KeyEpoch.previousMax, "epochs before an epoch")) {
      let id = try reader.epochID()
      guard previous.last.map({ $0.id < id }) ?? true else {
        throw MalformedError("epochs before an epoch that are not in their order")
      }
      previous.append(Previous(id: id, wrappedKey: try reader.array(WrappingKey.wrappedByteCount)))
    }

    root = try Recipient(from: &reader)
    devices = []
    for _ in 0..<(try reader.count(atMost: KeyEpoch.devicesMax, "devices of an epoch")) {
      let device = try Recipient(from: &reader)
      guard devices.last.map({ $0.member.publicKey < device.member.publicKey }) ?? true else {
        throw MalformedError("devices of an epoch that are not in their order")
      }
      devices.append(device)
    }
    guard !devices.isEmpty else { throw MalformedError("an epoch without devices") }

    removals = []
    for _ in 0..<(try reader.count(atMost: KeyEpoch.removalsMax, "removals of an epoch")) {
      let replica = try reader.replica()
      guard removals.last.map({ $0.replica < replica }) ?? true else {
        throw MalformedError("removals of an epoch that are not in their order")
      }
      let size = try reader.varint()
      guard size <= Limits.numberMax else { throw MalformedError("a removal after commit \(size)") }
      removals.append(Removal(replica: replica, size: size, root: size > 0 ? try reader.digest() : nil))
    }
    origin = try reader.replica()
    time = try reader.varint()
    guard time <= Limits.numberMax else { throw MalformedError("an epoch of time \(time)") }
    maker = try reader.publicKey()
  }
}

/// A device that is removed from a vault.
package struct Removal: Hashable, Sendable {
  package let replica: ReplicaID
  /// The number of commits that count.
  package let size: UInt64
  /// The root after them; nil if none counts.
  package let root: Digest?

  /// Creates a removal.
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

  package mutating func vault() throws(MalformedError) -> VaultID {
    guard let vault = VaultID(bytes: try take(16)) else { preconditionFailure("an id has 16 bytes") }
    return vault
  }

  package mutating func epochID() throws(MalformedError) -> EpochID {
    guard let id = EpochID(bytes: try take(EpochID.byteCount)) else {
      preconditionFailure("an id has 16 bytes")
    }
    return id
  }

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
