#if canImport(Darwin) || HEARTLOG_STAND_INS
  import CryptoKit

  /// X25519 (RFC 7748) of the system's cryptographic library.
  enum X25519 {
    /// The public key of a secret; nil unless the secret has 32 bytes.
    static func publicKey(of secret: [UInt8]) -> [UInt8]? {
      guard let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: secret) else { return nil }
      return Array(key.publicKey.rawRepresentation)
    }

    /// The result of the function X25519; nil if the library refuses a key.
    static func agree(_ secret: [UInt8], _ publicKey: [UInt8]) -> [UInt8]? {
      guard let own = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: secret),
        let other = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
        let shared = try? own.sharedSecretFromKeyAgreement(with: other)
      else { return nil }
      return shared.withUnsafeBytes { Array($0) }
    }
  }
#endif
