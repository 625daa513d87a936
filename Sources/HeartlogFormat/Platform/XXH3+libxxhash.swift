#if !canImport(Darwin)
  import CXXHash

  /// XXH3-64 (xxHash, https://xxhash.com): a fast checksum of any number of bytes.
  package enum XXH3 {
    /// Returns the checksum of bytes, with the default secret.
    package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
      XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed)
    }
  }
#endif
