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
  public static let seedByteCount = 32

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
    let words = (0..<Self.seedByteCount / 8).map { _ in generator.next() as UInt64 }
    let seed = words.flatMap { word in withUnsafeBytes(of: word.littleEndian) { Array($0) } }
    guard let key = SigningKey(seed: seed) else { preconditionFailure("any 32 bytes are a seed") }
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
