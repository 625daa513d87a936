#if !canImport(Darwin)
  import CCrypto

  /// Ed25519 (RFC 8032) of the system's cryptographic library.
  enum Ed25519 {
    private static let publicKeyBytes = 32
    private static let signatureBytes = 64

    /// The library would otherwise read a configuration file of the machine, which could replace its algorithms.
    private static let isReady: Bool =
      OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1

    /// The public key of a seed; nil unless the seed has 32 bytes.
    static func publicKey(seed: [UInt8]) -> [UInt8]? {
      guard let key = privateKey(seed) else { return nil }
      defer { EVP_PKEY_free(key) }
      var bytes = [UInt8](repeating: 0, count: publicKeyBytes)
      var count = bytes.count
      guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1 else { return nil }
      return Array(bytes.prefix(count))
    }

    /// The signature of RFC 8032; nil unless the seed has 32 bytes.
    static func signature(of message: [UInt8], seed: [UInt8]) -> [UInt8]? {
      guard let key = privateKey(seed) else { return nil }
      defer { EVP_PKEY_free(key) }
      var bytes = [UInt8](repeating: 0, count: signatureBytes)
      var count = bytes.count
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
        EVP_DigestSign(context, &bytes, &count, message, message.count) == 1
      else { return nil }
      return Array(bytes.prefix(count))
    }

    static func verifies(_ signature: [UInt8], of message: [UInt8], with key: [UInt8]) -> Bool {
      precondition(isReady)
      guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, key, key.count) else { return false }
      defer { EVP_PKEY_free(key) }
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
        && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }

    private static func privateKey(_ seed: [UInt8]) -> OpaquePointer? {
      precondition(isReady)
      return EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
    }
  }
#endif
