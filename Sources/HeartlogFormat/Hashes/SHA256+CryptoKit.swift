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
#endif
