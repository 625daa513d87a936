#if canImport(CryptoKit)
  import CryptoKit

  /// SHA-256 (FIPS 180-4), fed piece by piece and used again after each digest.
  public struct SHA256Hasher {
    private var hasher = SHA256()

    public init() {}

    public mutating func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bufferPointer: bytes) }

    /// The digest of what came since the last one.
    public mutating func finish() -> Digest {
      defer { hasher = SHA256() }
      return hasher.finalize().withUnsafeBytes { Digest($0) }
    }
  }
#else
  import CCrypto

  /// SHA-256 (FIPS 180-4), fed piece by piece and used again after each digest.
  ///
  /// libcrypto's context is made once: fetching the algorithm anew costs several times a small hash.
  public struct SHA256Hasher: ~Copyable {
    private let context: OpaquePointer
    private static let algorithm = Algorithm()

    /// A hasher that has been fed nothing.
    public init() {
      guard let context = EVP_MD_CTX_new() else { preconditionFailure("out of memory") }
      self.context = context
      precondition(EVP_DigestInit_ex(context, Self.algorithm.pointer, nil) == 1, "libcrypto has no SHA-256")
    }

    deinit { EVP_MD_CTX_free(context) }

    /// Feeds it more bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
      precondition(EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) == 1)
    }

    /// The digest of what came since the last one.
    public mutating func finish() -> Digest {
      withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { output in
        var length: UInt32 = 0
        precondition(
          EVP_DigestFinal_ex(context, output.assumingMemoryBound(to: UInt8.self).baseAddress, &length) == 1)
        precondition(EVP_DigestInit_ex(context, nil, nil) == 1)
        return Digest(UnsafeRawBufferPointer(output))
      }
    }

    /// The fetched algorithm. It is immutable and libcrypto shares it between threads.
    private struct Algorithm: @unchecked Sendable {
      let pointer: OpaquePointer? = EVP_MD_fetch(nil, "SHA256", nil)
    }
  }
#endif

extension SHA256Hasher {
  /// Feeds it more bytes.
  public mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// The digest of `bytes` alone.
  public static func digest(of bytes: [UInt8]) -> Digest {
    var hasher = SHA256Hasher()
    hasher.update(bytes)
    return hasher.finish()
  }
}
