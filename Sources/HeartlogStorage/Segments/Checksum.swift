import CXXHash

/// XXH3-64 as the format uses it: seeded, so that bytes of another place never pass.
enum Checksum {
  static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    XXH3_64bits_withSeed(bytes.baseAddress, bytes.count, seed)
  }
}
