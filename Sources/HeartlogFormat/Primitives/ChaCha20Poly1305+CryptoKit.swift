#if canImport(Darwin) || HEARTLOG_STAND_INS
  import CryptoKit

  /// ChaCha20-Poly1305 (RFC 8439) of the system's cryptographic library.
  enum ChaCha20Poly1305 {
    static let tagByteCount = 16

    /// The ciphertext and behind it the tag.
    ///
    /// - Precondition: the key has 32 bytes and the nonce 12.
    static func seal(
      _ text: UnsafeRawBufferPointer, key: [UInt8], nonce: [UInt8], authenticating data: [UInt8]
    ) -> [UInt8] {
      guard key.count == 32, let nonce = try? ChaChaPoly.Nonce(data: nonce),
        let box = try? ChaChaPoly.seal(
          Array(text), using: SymmetricKey(data: key), nonce: nonce, authenticating: data)
      else { preconditionFailure("encryption fails on no input") }
      return Array(box.ciphertext) + Array(box.tag)
    }

    /// The text; nil unless key, nonce, data and all bytes are those of `seal`.
    static func open(
      _ sealed: UnsafeRawBufferPointer, key: [UInt8], nonce: [UInt8], authenticating data: [UInt8]
    ) -> [UInt8]? {
      precondition(key.count == 32 && nonce.count == 12)
      guard sealed.count >= tagByteCount, let nonce = try? ChaChaPoly.Nonce(data: nonce) else { return nil }
      let textCount = sealed.count - tagByteCount
      guard
        let box = try? ChaChaPoly.SealedBox(
          nonce: nonce, ciphertext: Array(sealed[..<textCount]), tag: Array(sealed[textCount...])),
        let text = try? ChaChaPoly.open(box, using: SymmetricKey(data: key), authenticating: data)
      else { return nil }
      return Array(text)
    }
  }
#endif
