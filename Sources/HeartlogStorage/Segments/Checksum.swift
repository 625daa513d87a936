import HeartlogFormat

/// XXH3-64 as the format uses it: the seed depends on the position, so that bytes from another position never
/// match.
enum Checksum {
  static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    XXH3.hash(bytes, seed: seed)
  }
}
