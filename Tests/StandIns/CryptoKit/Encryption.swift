import CCrypto
public import FoundationEssentials

// What Heartlog's encryption uses of Apple's CryptoKit, declared as its SDK does and done by libcrypto.

public struct SymmetricKey: ContiguousBytes {
  fileprivate let bytes: [UInt8]

  public init<D: ContiguousBytes>(data: D) { bytes = data.withUnsafeBytes { Array($0) } }

  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes(body)
  }
}

public struct SharedSecret: ContiguousBytes {
  fileprivate let bytes: [UInt8]

  public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes(body)
  }
}

extension Curve25519 {
  public enum KeyAgreement {
    public struct PublicKey {
      public let rawRepresentation: Data

      public init<D: ContiguousBytes>(rawRepresentation data: D) throws {
        let bytes = data.withUnsafeBytes { Data($0) }
        guard bytes.count == 32 else { throw CryptoKitError.incorrectKeySize }
        rawRepresentation = bytes
      }
    }

    public struct PrivateKey {
      private let secret: [UInt8]
      public let publicKey: PublicKey

      public init<D: ContiguousBytes>(rawRepresentation data: D) throws {
        secret = data.withUnsafeBytes { Array($0) }
        guard secret.count == 32 else { throw CryptoKitError.incorrectKeySize }
        let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, secret, 32)
        defer { EVP_PKEY_free(key) }
        var bytes = [UInt8](repeating: 0, count: 32)
        var count = 32
        precondition(EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1)
        publicKey = try PublicKey(rawRepresentation: bytes)
      }

      public func sharedSecretFromKeyAgreement(with publicKeyShare: PublicKey) throws -> SharedSecret {
        let own = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, secret, 32)
        defer { EVP_PKEY_free(own) }
        let other = EVP_PKEY_new_raw_public_key(
          EVP_PKEY_X25519, nil, Array(publicKeyShare.rawRepresentation), 32)
        defer { EVP_PKEY_free(other) }
        let context = EVP_PKEY_CTX_new(own, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var bytes = [UInt8](repeating: 0, count: 32)
        var count = 32
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, other) == 1,
          EVP_PKEY_derive(context, &bytes, &count) == 1
        else { throw CryptoKitError.underlyingCoreCryptoError(error: -1) }
        return SharedSecret(bytes: bytes)
      }
    }
  }
}

public protocol HashFunction {}

extension SHA256: HashFunction {}

public enum HKDF<H: HashFunction> {
  /// RFC 5869 over the one-shot HMAC of libcrypto, so that it is not the code that it is compared with.
  public static func deriveKey<Salt: DataProtocol, Info: DataProtocol>(
    inputKeyMaterial: SymmetricKey, salt: Salt, info: Info, outputByteCount: Int
  ) -> SymmetricKey {
    let extracted = hmac(
      inputKeyMaterial.bytes, key: salt.isEmpty ? [UInt8](repeating: 0, count: 32) : Array(salt))
    var output: [UInt8] = []
    var block: [UInt8] = []
    var number: UInt8 = 0
    while output.count < outputByteCount {
      number += 1
      block = hmac(block + Array(info) + [number], key: extracted)
      output += block
    }
    return SymmetricKey(data: Array(output.prefix(outputByteCount)))
  }

  private static func hmac(_ message: [UInt8], key: [UInt8]) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 32)
    var count: UInt32 = 32
    precondition(HMAC(EVP_sha256(), key, Int32(key.count), message, message.count, &bytes, &count) != nil)
    return bytes
  }
}

public enum ChaChaPoly {
  public struct Nonce {
    fileprivate let bytes: [UInt8]

    public init<D: DataProtocol>(data: D) throws {
      bytes = Array(data)
      guard bytes.count == 12 else { throw CryptoKitError.incorrectParameterSize }
    }
  }

  public struct SealedBox {
    public let nonce: Nonce
    public let ciphertext: Data
    public let tag: Data

    public init<C: DataProtocol, T: DataProtocol>(nonce: Nonce, ciphertext: C, tag: T) throws {
      guard tag.count == 16 else { throw CryptoKitError.incorrectParameterSize }
      self.nonce = nonce
      self.ciphertext = Data(ciphertext)
      self.tag = Data(tag)
    }
  }

  public static func seal<Plaintext: DataProtocol, AuthenticatedData: DataProtocol>(
    _ message: Plaintext, using key: SymmetricKey, nonce: Nonce?, authenticating data: AuthenticatedData
  ) throws -> SealedBox {
    guard let nonce, key.bytes.count == 32 else { throw CryptoKitError.incorrectKeySize }
    let (text, aad) = (Array(message), Array(data))
    let context = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(context) }
    var bytes = [UInt8](repeating: 0, count: text.count + 1)
    var tag = [UInt8](repeating: 0, count: 16)
    var end = [UInt8](repeating: 0, count: 16)
    var count: Int32 = 0
    precondition(EVP_EncryptInit_ex(context, EVP_chacha20_poly1305(), nil, key.bytes, nonce.bytes) == 1)
    precondition(EVP_EncryptUpdate(context, nil, &count, aad, Int32(aad.count)) == 1)
    precondition(text.isEmpty || EVP_EncryptUpdate(context, &bytes, &count, text, Int32(text.count)) == 1)
    precondition(EVP_EncryptFinal_ex(context, &end, &count) == 1)
    precondition(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1)
    return try SealedBox(nonce: nonce, ciphertext: bytes.prefix(text.count), tag: tag)
  }

  public static func open<AuthenticatedData: DataProtocol>(
    _ sealedBox: SealedBox, using key: SymmetricKey, authenticating data: AuthenticatedData
  ) throws -> Data {
    guard key.bytes.count == 32 else { throw CryptoKitError.incorrectKeySize }
    let (sealed, aad) = (Array(sealedBox.ciphertext), Array(data))
    let context = EVP_CIPHER_CTX_new()
    defer { EVP_CIPHER_CTX_free(context) }
    var bytes = [UInt8](repeating: 0, count: sealed.count + 1)
    var tag = Array(sealedBox.tag)
    var end = [UInt8](repeating: 0, count: 16)
    var count: Int32 = 0
    precondition(
      EVP_DecryptInit_ex(context, EVP_chacha20_poly1305(), nil, key.bytes, sealedBox.nonce.bytes) == 1)
    precondition(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1)
    precondition(EVP_DecryptUpdate(context, nil, &count, aad, Int32(aad.count)) == 1)
    precondition(
      sealed.isEmpty || EVP_DecryptUpdate(context, &bytes, &count, sealed, Int32(sealed.count)) == 1)
    guard EVP_DecryptFinal_ex(context, &end, &count) == 1 else { throw CryptoKitError.authenticationFailure }
    return Data(bytes.prefix(sealed.count))
  }
}
