#if canImport(Darwin) || HEARTLOG_STAND_INS
  import CryptoKit

  /// SHA-256 (FIPS 180-4), updated incrementally and reusable after each digest.
  package struct SHA256Hasher: ~Copyable {
    private var hasher = SHA256()

    /// Creates a hasher without input.
    package init() {}

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bufferPointer: bytes) }

    /// The digest of the bytes added since the last digest.
    package mutating func finish() -> Digest {
      let digest = hasher.finalize().withUnsafeBytes { Digest($0) }
      hasher = SHA256()
      return digest
    }
  }

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

  /// HKDF with SHA-256 (RFC 5869) of the system's cryptographic library.
  enum HKDFSHA256 {
    /// `count` bytes, at most 8,160.
    static func derive(_ count: Int, from material: [UInt8], salt: [UInt8], info: [UInt8]) -> [UInt8] {
      HKDF<SHA256>.deriveKey(
        inputKeyMaterial: SymmetricKey(data: material), salt: salt, info: info, outputByteCount: count
      ).withUnsafeBytes { Array($0) }
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
