#if !canImport(Darwin)
  import CCrypto

  /// X25519 (RFC 7748) of the system's cryptographic library.
  enum X25519 {
    /// The public key of a secret; nil unless the secret has 32 bytes.
    static func publicKey(of secret: [UInt8]) -> [UInt8]? {
      guard LibCrypto.isReady,
        let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, secret, secret.count)
      else { return nil }
      defer { EVP_PKEY_free(key) }
      var bytes = [UInt8](repeating: 0, count: 32)
      var count = bytes.count
      guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == bytes.count else { return nil }
      return bytes
    }

    /// The result of the function X25519; nil if the library refuses a key.
    static func agree(_ secret: [UInt8], _ publicKey: [UInt8]) -> [UInt8]? {
      guard LibCrypto.isReady,
        let own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, secret, secret.count)
      else { return nil }
      defer { EVP_PKEY_free(own) }
      guard let other = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nil, publicKey, publicKey.count) else {
        return nil
      }
      defer { EVP_PKEY_free(other) }
      let context = EVP_PKEY_CTX_new(own, nil)
      defer { EVP_PKEY_CTX_free(context) }
      var bytes = [UInt8](repeating: 0, count: 32)
      var count = bytes.count
      guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, other) == 1,
        EVP_PKEY_derive(context, &bytes, &count) == 1, count == bytes.count
      else { return nil }
      return bytes
    }
  }

  enum LibCrypto {
    /// The library would otherwise read a configuration file of the machine, which could replace its algorithms.
    static let isReady: Bool = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1
  }
#endif
