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
#endif
