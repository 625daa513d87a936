import HeartlogEvents

#if canImport(CryptoKit)
  import CryptoKit

  /// Ed25519 (RFC 8032) of the system's cryptographic library.
  enum Ed25519 {
    /// Returns nil unless the seed has 32 bytes.
    static func publicKey(seed: [UInt8]) -> PublicKey? {
      guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed) else { return nil }
      return PublicKey(bytes: Array(key.publicKey.rawRepresentation))
    }

    static func signature(of message: [UInt8], seed: [UInt8]) -> Signature {
      guard let key = try? Curve25519.Signing.PrivateKey(rawRepresentation: seed),
        let bytes = try? key.signature(for: message), let signature = Signature(bytes: Array(bytes))
      else { preconditionFailure("any 32 bytes sign any message") }
      return signature
    }

    static func verifies(_ signature: Signature, of message: [UInt8], with key: PublicKey) -> Bool {
      guard let key = try? Curve25519.Signing.PublicKey(rawRepresentation: key.bytes) else { return false }
      return key.isValidSignature(signature.bytes, for: message)
    }
  }
#else
  import CCrypto

  /// Ed25519 (RFC 8032) of the system's cryptographic library.
  enum Ed25519 {
    /// The library would otherwise read a configuration file of the machine, which could replace its algorithms.
    private static let isReady: Bool =
      OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1

    /// Returns nil unless the seed has 32 bytes.
    static func publicKey(seed: [UInt8]) -> PublicKey? {
      guard let key = privateKey(seed) else { return nil }
      defer { EVP_PKEY_free(key) }
      var bytes = [UInt8](repeating: 0, count: PublicKey.byteCount)
      var count = bytes.count
      guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 else { return nil }
      return PublicKey(bytes: bytes.prefix(count))
    }

    static func signature(of message: [UInt8], seed: [UInt8]) -> Signature {
      var bytes = [UInt8](repeating: 0, count: Signature.byteCount)
      var count = bytes.count
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      let key = privateKey(seed)
      defer { EVP_PKEY_free(key) }
      guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
        EVP_DigestSign(context, &bytes, &count, message, message.count) == 1,
        let signature = Signature(bytes: bytes.prefix(count))
      else { preconditionFailure("any 32 bytes sign any message") }
      return signature
    }

    static func verifies(_ signature: Signature, of message: [UInt8], with key: PublicKey) -> Bool {
      precondition(isReady)
      guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, key.bytes, PublicKey.byteCount)
      else {
        return false
      }
      defer { EVP_PKEY_free(key) }
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
        && EVP_DigestVerify(context, signature.bytes, signature.bytes.count, message, message.count) == 1
    }

    private static func privateKey(_ seed: [UInt8]) -> OpaquePointer? {
      precondition(isReady)
      return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
    }
  }
#endif
