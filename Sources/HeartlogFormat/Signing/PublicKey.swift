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
  public static let byteCount = 32

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
  public static let byteCount = 64
}
