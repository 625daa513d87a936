import Heartlog
import HeartlogHub
import HeartlogFormat

/// What a hub reads of an epoch's object: who made it, and which root, devices and removals it names. "Key epochs" in
/// docs/encryption.md.
struct SignedEpoch: Hashable, Sendable {
  /// The first 16 bytes of the hash of the object.
  let id: [UInt8]
  let vault: VaultID
  let generation: UInt64
  let number: UInt64
  let root: PublicKey
  let devices: [PublicKey]
  /// By replica, the last commit that stays.
  let removals: [ReplicaID: UInt64]
  let maker: PublicKey

  static let idBytes = 16
  static let bytesMax = 1 << 20
  private static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x4B, 0x45, 0x59, 0x0D, 0x0A]

  /// Reads an epoch and verifies its maker's signature. What only devices can verify is not looked at.
  init(_ bytes: [UInt8]) throws(MalformedError) {
    id = Self.id(of: bytes)
    let signed = try SignedObject(bytes, magic: Self.magic, label: "heartlog epoch 1")
    maker = signed.signer
    let fields = try signed.read { (reader) throws(MalformedError) in try EpochFields(&reader) }
    (vault, generation, number) = (fields.vault, fields.generation, fields.number)
    (root, devices, removals) = (fields.root, fields.devices, fields.removals)
    let isFirst = number == 1
    guard isFirst == (fields.previousCount == 0), !isFirst || generation == 0 && maker == root else {
      throw MalformedError("a first epoch is made by its root")
    }
    guard isFirst || (devices.contains(maker) ? removals.isEmpty : generation > 0 && maker != root) else {
      throw MalformedError("an epoch is made by a device, or by the root before")
    }
  }

  static func id(of bytes: [UInt8]) -> [UInt8] { Array(SHA256Hasher.digest(of: bytes).bytes.prefix(idBytes)) }
}

/// What a hub reads of an admission: "Admissions" in docs/encryption.md.
struct SignedAdmission: Hashable, Sendable {
  let vault: VaultID
  /// The id of the epoch whose key it gives.
  let epoch: [UInt8]
  let key: PublicKey
  let signer: PublicKey

  private static let magic: [UInt8] = [0x89, 0x48, 0x4C, 0x41, 0x44, 0x4D, 0x0D, 0x0A]

  init(_ bytes: [UInt8]) throws(MalformedError) {
    let signed = try SignedObject(bytes, magic: Self.magic, label: "heartlog admission 1")
    signer = signed.signer
    (vault, epoch, key) = try signed.read { (reader) throws(MalformedError) in
      let vault = try EpochFields.vault(&reader)
      let epoch = Array(try reader.take(SignedEpoch.idBytes))
      // The ephemeral key and the commitment.
      _ = try reader.take(32 + 32)
      return (vault, epoch, try EpochFields.recipient(&reader))
    }
  }
}

/// An object that ends with the key of its signer and a signature of all before that.
private struct SignedObject {
  let signer: PublicKey
  /// What is between the version and the signer.
  private let body: [UInt8]

  init(_ bytes: [UInt8], magic: [UInt8], label: String) throws(MalformedError) {
    let head = magic + [1]
    guard bytes.count >= head.count + 96, bytes.starts(with: head),
      let signer = PublicKey(bytes: bytes[(bytes.count - 96)..<(bytes.count - 64)]),
      let signature = Signature(bytes: bytes[(bytes.count - 64)...])
    else { throw MalformedError("an object that is not signed") }
    guard signer.verifies(signature, of: Array(label.utf8) + [0] + bytes.dropLast(64)) else {
      throw MalformedError("a wrong signature")
    }
    self.signer = signer
    body = Array(bytes[head.count..<(bytes.count - 96)])
  }

  /// Reads all of the body.
  func read<R>(
    _ fields: (inout ByteReader) throws(MalformedError) -> R
  ) throws(MalformedError) -> R {
    try body.withBytes { (bytes) throws(MalformedError) in
      var reader = ByteReader(bytes)
      let found = try fields(&reader)
      try reader.end()
      return found
    }
  }
}

/// The fields of an epoch, in their order.
private struct EpochFields {
  let vault: VaultID
  let generation: UInt64
  let number: UInt64
  let previousCount: Int
  let root: PublicKey
  let devices: [PublicKey]
  let removals: [ReplicaID: UInt64]

  private static let previousMax = 16
  private static let devicesMax = 1_024

  init(_ reader: inout ByteReader) throws(MalformedError) {
    vault = try Self.vault(&reader)
    generation = try reader.varint()
    number = try reader.varint()
    // The commitment and the ephemeral key.
    _ = try reader.take(64)
    previousCount = try reader.count(atMost: Self.previousMax, "epochs before")
    _ = try reader.take(previousCount * (SignedEpoch.idBytes + 48))
    root = try Self.recipient(&reader)
    var devices: [PublicKey] = []
    for _ in 0..<(try reader.count(atMost: Self.devicesMax, "devices")) {
      devices.append(try Self.recipient(&reader))
    }
    var removals: [ReplicaID: UInt64] = [:]
    for _ in 0..<(try reader.count(atMost: AdmittedKeys.removedMax, "removals")) {
      let replica = try reader.replica()
      let size = try reader.varint()
      if size > 0 { _ = try reader.take(32) }
      removals[replica] = size
    }
    // Where and when it was made.
    _ = try reader.take(16)
    _ = try reader.varint()
    guard removals.isEmpty || !devices.contains(where: { removals[$0.replica] != nil }) else {
      throw MalformedError("a device that is removed")
    }
    (self.devices, self.removals) = (devices, removals)
  }

  static func vault(_ reader: inout ByteReader) throws(MalformedError) -> VaultID {
    guard let vault = VaultID(bytes: try reader.take(16)) else {
      throw MalformedError("a vault has 16 bytes")
    }
    return vault
  }

  static func recipient(_ reader: inout ByteReader) throws(MalformedError) -> PublicKey {
    guard let key = PublicKey(bytes: try reader.take(32)) else { throw MalformedError("a key has 32 bytes") }
    // The agreement key, its announcement and the wrapped key.
    _ = try reader.take(32 + 64 + 48)
    return key
  }
}
