#if canImport(Darwin) || HEARTLOG_STAND_INS
  import CryptoKit

  /// Ed25519 (RFC 8032) of the system's cryptographic library.
  enum Ed25519 {
    /// The public key of a seed; nil unless the seed has 32 bytes.
    static func publicKey(seed: [UInt8]) -> [UInt8]? {
      guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed) else { return nil }
      return Array(key.publicKey.rawRepresentation)
    }

    /// A signature, which need not be the one that RFC 8032 derives: CryptoKit adds randomness. Nil unless the seed has 32 bytes.
    static func signature(of message: [UInt8], seed: [UInt8]) -> [UInt8]? {
      guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed),
        let signature = try? key.signature(for: message)
      else { return nil }
      return Array(signature)
    }

    static func verifies(_ signature: [UInt8], of message: [UInt8], with key: [UInt8]) -> Bool {
      guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: key) else { return false }
      return key.isValidSignature(signature, for: message)
    }
  }
#endif
