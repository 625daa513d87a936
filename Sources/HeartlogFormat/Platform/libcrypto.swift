#if !canImport(Darwin)
  import CCrypto

  /// SHA-256 (FIPS 180-4), updated incrementally and reusable after each digest.
  package struct SHA256Hasher: ~Copyable {
    private var context = SHA256_CTX()

    /// Creates a hasher without input.
    package init() { precondition(SHA256_Init(&context) == 1) }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
      precondition(SHA256_Update(&context, bytes.baseAddress, bytes.count) == 1)
    }

    /// The digest of the bytes added since the last digest.
    package mutating func finish() -> Digest {
      withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { output in
        precondition(SHA256_Final(output.assumingMemoryBound(to: UInt8.self).baseAddress, &context) == 1)
        precondition(SHA256_Init(&context) == 1)
        return Digest(UnsafeRawBufferPointer(output))
      }
    }
  }

  /// Ed25519 (RFC 8032) of the system's cryptographic library.
  enum Ed25519 {
    private static let signatureBytes = 64

    /// The public key of a seed; nil unless the seed has 32 bytes.
    static func publicKey(seed: [UInt8]) -> [UInt8]? {
      LibCrypto.publicKey(EVP_PKEY_ED25519, of: seed)
    }

    /// The signature of RFC 8032; nil unless the seed has 32 bytes.
    static func signature(of message: [UInt8], seed: [UInt8]) -> [UInt8]? {
      guard let key = LibCrypto.privateKey(EVP_PKEY_ED25519, seed) else { return nil }
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
      precondition(LibCrypto.isReady)
      guard let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, key, key.count) else { return false }
      defer { EVP_PKEY_free(key) }
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
        && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
  }

  /// X25519 (RFC 7748) of the system's cryptographic library.
  enum X25519 {
    /// The public key of a secret; nil unless the secret has 32 bytes.
    static func publicKey(of secret: [UInt8]) -> [UInt8]? {
      LibCrypto.publicKey(EVP_PKEY_X25519, of: secret)
    }

    /// The result of the function X25519; nil if the library refuses a key.
    static func agree(_ secret: [UInt8], _ publicKey: [UInt8]) -> [UInt8]? {
      guard let own = LibCrypto.privateKey(EVP_PKEY_X25519, secret) else { return nil }
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

    /// A private key of an algorithm; nil unless it has 32 bytes.
    static func privateKey(_ algorithm: Int32, _ secret: [UInt8]) -> OpaquePointer? {
      precondition(isReady)
      return EVP_PKEY_new_raw_private_key(algorithm, nil, secret, secret.count)
    }

    static func publicKey(_ algorithm: Int32, of secret: [UInt8]) -> [UInt8]? {
      guard let key = privateKey(algorithm, secret) else { return nil }
      defer { EVP_PKEY_free(key) }
      var bytes = [UInt8](repeating: 0, count: 32)
      var count = bytes.count
      guard EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1, count == bytes.count else { return nil }
      return bytes
    }
  }

  /// HKDF with SHA-256 (RFC 5869) of the system's cryptographic library.
  enum HKDFSHA256 {
    /// `count` bytes, at most 8,160. The library takes no more than 1,024 bytes of `info`.
    static func derive(_ count: Int, from material: [UInt8], salt: [UInt8], info: [UInt8]) -> [UInt8] {
      precondition(LibCrypto.isReady)
      let context = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil)
      defer { EVP_PKEY_CTX_free(context) }
      var bytes = [UInt8](repeating: 0, count: count)
      var written = count
      precondition(
        EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) == 1
          && EVP_PKEY_CTX_set1_hkdf_key(context, material, Int32(material.count)) == 1
          // The library wants none rather than an empty one.
          && (salt.isEmpty || EVP_PKEY_CTX_set1_hkdf_salt(context, salt, Int32(salt.count)) == 1)
          && (info.isEmpty || EVP_PKEY_CTX_add1_hkdf_info(context, info, Int32(info.count)) == 1)
          && EVP_PKEY_derive(context, &bytes, &written) == 1 && written == count,
        "HKDF fails on no input within its limits")
      return bytes
    }
  }

  /// ChaCha20-Poly1305 (RFC 8439) of the system's cryptographic library.
  enum ChaCha20Poly1305 {
    static let tagByteCount = 16

    /// The ciphertext and behind it the tag.
    ///
    /// - Precondition: the key has 32 bytes and the nonce 12.
    static func seal(
      _ text: UnsafeRawBufferPointer, key: [UInt8], nonce: [UInt8], authenticating data: [UInt8]
    ) -> [UInt8] {
      precondition(LibCrypto.isReady && key.count == 32 && nonce.count == 12)
      let context = EVP_CIPHER_CTX_new()
      defer { EVP_CIPHER_CTX_free(context) }
      let sealed = [UInt8](unsafeUninitializedCapacity: text.count + tagByteCount) { output, count in
        var written: Int32 = 0
        // Bounds: a stream cipher writes as many bytes as it reads, and the tag fits behind them.
        precondition(
          EVP_EncryptInit_ex(context, EVP_chacha20_poly1305(), nil, key, nonce) == 1
            && EVP_EncryptUpdate(context, nil, &written, data, Int32(data.count)) == 1
            && (text.isEmpty
              || EVP_EncryptUpdate(
                context, output.baseAddress, &written,
                text.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(text.count)) == 1)
            && EVP_EncryptFinal_ex(context, output.baseAddress.map { $0 + text.count }, &written) == 1
            && EVP_CIPHER_CTX_ctrl(
              context, EVP_CTRL_AEAD_GET_TAG, Int32(tagByteCount),
              output.baseAddress.map { $0 + text.count }) == 1,
          "encryption fails on no input")
        count = text.count + tagByteCount
      }
      return sealed
    }

    /// The text; nil unless key, nonce, data and all bytes are those of `seal`.
    static func open(
      _ sealed: UnsafeRawBufferPointer, key: [UInt8], nonce: [UInt8], authenticating data: [UInt8]
    ) -> [UInt8]? {
      precondition(LibCrypto.isReady && key.count == 32 && nonce.count == 12)
      guard sealed.count >= tagByteCount else { return nil }
      let textCount = sealed.count - tagByteCount
      let context = EVP_CIPHER_CTX_new()
      defer { EVP_CIPHER_CTX_free(context) }
      var tag = Array(sealed[textCount...])
      var isValid = false
      let text = [UInt8](unsafeUninitializedCapacity: textCount) { output, count in
        var written: Int32 = 0
        isValid =
          EVP_DecryptInit_ex(context, EVP_chacha20_poly1305(), nil, key, nonce) == 1
          && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagByteCount), &tag) == 1
          && EVP_DecryptUpdate(context, nil, &written, data, Int32(data.count)) == 1
          && (textCount == 0
            || EVP_DecryptUpdate(
              context, output.baseAddress, &written,
              sealed.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(textCount)) == 1)
        // Writes nothing, and tells whether the tag is right.
        var end: UInt8 = 0
        isValid = isValid && EVP_DecryptFinal_ex(context, &end, &written) == 1
        count = isValid ? textCount : 0
      }
      return isValid ? text : nil
    }
  }
#endif
