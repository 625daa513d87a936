#if !canImport(Darwin)
  import CCrypto

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
#endif
