import CCrypto
public import FoundationEssentials

public enum CryptoKitError: Error {
  case incorrectKeySize
  case incorrectParameterSize
  case authenticationFailure
  case underlyingCoreCryptoError(error: Int32)
}

public enum Curve25519 {
  public enum Signing {}
}

extension Curve25519.Signing {
  private static let keyBytes = 32
  private static let signatureBytes = 64

  public struct PublicKey {
    public let rawRepresentation: Data

    /// Accepts any 32 bytes.
    public init<D: ContiguousBytes>(rawRepresentation data: D) throws {
      let bytes = data.withUnsafeBytes { Data($0) }
      guard bytes.count == keyBytes else { throw CryptoKitError.incorrectKeySize }
      rawRepresentation = bytes
    }

    public func isValidSignature<S: DataProtocol, D: DataProtocol>(_ signature: S, for data: D) -> Bool {
      let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, Array(rawRepresentation), keyBytes)
      defer { EVP_PKEY_free(key) }
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      return EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
        && EVP_DigestVerify(context, Array(signature), signature.count, Array(data), data.count) == 1
    }
  }

  public struct PrivateKey {
    private let seed: [UInt8]
    public let publicKey: PublicKey

    public init<D: ContiguousBytes>(rawRepresentation data: D) throws {
      seed = data.withUnsafeBytes { Array($0) }
      guard seed.count == keyBytes else { throw CryptoKitError.incorrectKeySize }
      let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, keyBytes)
      defer { EVP_PKEY_free(key) }
      var bytes = [UInt8](repeating: 0, count: keyBytes)
      var count = keyBytes
      precondition(EVP_PKEY_get_raw_public_key(key, &bytes, &count) == 1)
      publicKey = try PublicKey(rawRepresentation: bytes)
    }

    /// The signature of RFC 8032. That of CryptoKit is another one each time.
    public func signature<D: DataProtocol>(for data: D) throws -> Data {
      let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, keyBytes)
      defer { EVP_PKEY_free(key) }
      let context = EVP_MD_CTX_new()
      defer { EVP_MD_CTX_free(context) }
      var bytes = [UInt8](repeating: 0, count: signatureBytes)
      var count = signatureBytes
      precondition(EVP_DigestSignInit(context, nil, nil, nil, key) == 1)
      precondition(EVP_DigestSign(context, &bytes, &count, Array(data), data.count) == 1)
      return Data(bytes)
    }
  }
}
