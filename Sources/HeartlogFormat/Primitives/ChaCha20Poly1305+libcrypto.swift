#if !canImport(Darwin)
  import CCrypto

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
