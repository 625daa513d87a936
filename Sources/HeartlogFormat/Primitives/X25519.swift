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
