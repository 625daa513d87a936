/// The key with which a device signs its checkpoints. An app can keep it wherever it keeps secrets, for example in a keychain.
public protocol DeviceKey: Sendable {
  /// The key that others verify with.
  var publicKey: PublicKey { get }

  /// Signs a message with Ed25519 (RFC 8032).
  func signature(of message: [UInt8]) throws -> Signature
}

/// A device key in memory.
public struct SigningKey: DeviceKey {
  /// The 32 secret bytes (RFC 8032, section 5.1.5).
  public let seed: [UInt8]
  /// The key that others verify with.
  public let publicKey: PublicKey

  /// The number of bytes of a seed.
  package static let seedByteCount = 32

  /// Creates a key from its secret bytes; nil unless there are 32.
  public init?(seed: some Collection<UInt8>) {
    guard seed.count == Self.seedByteCount, let bytes = Ed25519.publicKey(seed: Array(seed)),
      let publicKey = PublicKey(bytes: bytes)
    else { return nil }
    self.seed = Array(seed)
    self.publicKey = publicKey
  }

  /// Creates a key from both parts, which were kept together.
  package init(seed: [UInt8], publicKey: PublicKey) {
    self.seed = seed
    self.publicKey = publicKey
  }

  /// Creates a new key.
  public init(using generator: inout some RandomNumberGenerator) {
    guard let key = SigningKey(seed: generator.next32Bytes()) else {
      preconditionFailure("any 32 bytes are a seed")
    }
    self = key
  }

  public func signature(of message: [UInt8]) throws -> Signature {
    guard let bytes = Ed25519.signature(of: message, seed: seed), let signature = Signature(bytes: bytes)
    else { preconditionFailure("any 32 bytes sign any message") }
    return signature
  }
}

extension PublicKey {
  /// Returns whether a signature of a message was made with the secret part of this key.
  public func verifies(_ signature: Signature, of message: [UInt8]) -> Bool {
    Ed25519.verifies(signature.bytes, of: message, with: bytes)
  }
}

/// Keeps the device key of one store. The store's folder keeps it by default; an app can use a keychain instead.
public protocol DeviceKeyStore: Sendable {
  /// Returns the key that was made last; nil if there is none.
  func key() throws -> (any DeviceKey)?

  /// Makes a new key and keeps it in place of the one before, durably.
  func makeKey() throws -> any DeviceKey
}

/// An Ed25519 public key (RFC 8032): 32 bytes.
public struct PublicKey: Hashable, Sendable, CustomStringConvertible {
  /// The key itself, as SHA-256 digests are stored: 32 bytes inline.
  private let storage: Digest

  /// Accepts 32 bytes; nil for any other count. Whether they are a point of the curve shows when a signature is verified.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    storage = Digest(Array(bytes))
  }

  /// The number of bytes of a key.
  package static let byteCount = 32

  /// The 32 bytes.
  public var bytes: [UInt8] { storage.bytes }

  /// SHA-256 of the key: what two people compare.
  public var fingerprint: HeartlogDigest { SHA256Hasher.digest(of: bytes) }

  /// The replica that writes with this key: the first 16 bytes of the fingerprint. So nobody else can claim its id.
  public var replica: ReplicaID {
    guard let replica = ReplicaID(bytes: fingerprint.bytes.prefix(16)) else {
      preconditionFailure("a replica has 16 bytes")
    }
    return replica
  }

  /// The key as 64 hexadecimal digits.
  public var description: String { storage.description }
}

/// An Ed25519 signature (RFC 8032): 64 bytes.
public struct Signature: Hashable, Sendable {
  /// The 64 bytes.
  public let bytes: [UInt8]

  /// Accepts 64 bytes; nil for any other count.
  public init?(bytes: some Collection<UInt8>) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = Array(bytes)
  }

  /// The number of bytes of a signature.
  package static let byteCount = 64
}

/// What a person has of a public key, to compare a proof with.
package struct KeyReference: Hashable, Sendable {
  private let bytes: [UInt8]

  /// Reads a public key or its fingerprint (64 hexadecimal digits), the id of its replica (32), or a verifier key of C2SP signed-note
  /// (`NAME+ID+BASE64`); nil for any other text.
  package init?(_ text: some StringProtocol) {
    if let bytes = Hexadecimal.bytes(text.lowercased()) {
      guard bytes.count == PublicKey.byteCount || bytes.count == PublicKey.byteCount / 2 else { return nil }
      self.bytes = bytes
      return
    }
    let parts = text.split(separator: "+", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let bytes = Base64.bytes(parts[2]), bytes.count == PublicKey.byteCount + 1,
      let algorithm = NoteSignature.Algorithm(rawValue: bytes[0]),
      let key = PublicKey(bytes: bytes.dropFirst()),
      NoteSignature.isName(parts[0]),
      parts[1] == Hexadecimal.text(NoteSignature.keyID(of: key, named: String(parts[0]), algorithm))
    else { return nil }
    self.bytes = key.bytes
  }

  /// Returns whether this is that key, its fingerprint or its replica.
  package func matches(_ key: PublicKey) -> Bool {
    bytes == key.bytes || bytes == key.fingerprint.bytes || bytes == key.replica.bytes
  }
}
