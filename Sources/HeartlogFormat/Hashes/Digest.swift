/// 32 bytes of SHA-256. CryptoKit has a `Digest` of its own, beside which this name is unambiguous.
public struct HeartlogDigest: Hashable, Sendable, CustomStringConvertible {
  /// The size of a digest in bytes.
  package static let byteCount = 32
  // Four words in memory order, so that a digest is stored inline.
  private let words: (UInt64, UInt64, UInt64, UInt64)

  /// Copies 32 bytes; any other count is a programming error.
  package init(_ bytes: UnsafeRawBufferPointer) {
    precondition(bytes.count == 32, "a digest has 32 bytes")
    words = (
      bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self),
      bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
      bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
      bytes.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
    )
  }

  /// Copies 32 bytes; any other count is a programming error.
  package init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { HeartlogDigest($0) } }

  /// Reads 64 hexadecimal digits; nil for any other text.
  public init?(_ text: some StringProtocol) {
    guard let bytes = Hexadecimal.bytes(text), bytes.count == 32 else { return nil }
    self.init(bytes)
  }

  /// The 32 bytes, copied.
  public var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  /// The 32 bytes, valid for the duration of the call.
  package func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try Swift.withUnsafeBytes(of: words, body)
  }

  public static func == (a: HeartlogDigest, b: HeartlogDigest) -> Bool { a.words == b.words }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(words.0)
    hasher.combine(words.1)
  }

  /// 64 hexadecimal digits.
  public var description: String { Hexadecimal.text(bytes) }
}

/// SHA-256 of a salt and an event's content.
package typealias EventHash = HeartlogDigest

package typealias Digest = HeartlogDigest

extension SHA256Hasher {
  /// Adds bytes.
  package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// The digest of `bytes` alone.
  package static func digest(of bytes: [UInt8]) -> Digest {
    var hasher = SHA256Hasher()
    hasher.update(bytes)
    return hasher.finish()
  }
}

extension X25519 {
  static let keyByteCount = 32

  /// The shared secret; nil unless both keys have 32 bytes and the secret is not all zeros, as it is for a public key of small order
  /// (RFC 7748, section 6.1).
  static func sharedSecret(of secret: [UInt8], with publicKey: [UInt8]) -> [UInt8]? {
    guard secret.count == keyByteCount, publicKey.count == keyByteCount,
      let shared = agree(secret, publicKey), shared.count == keyByteCount, shared.contains(where: { $0 != 0 })
    else { return nil }
    return shared
  }
}
