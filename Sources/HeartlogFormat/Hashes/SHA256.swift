extension SHA256Hasher {
  /// Adds bytes.
  package mutating func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }

  /// The digest of `bytes` alone.
  package static func digest(of bytes: [UInt8]) -> Digest {
    var hasher = SHA256Hasher()
    hasher.update(bytes)
    return hasher.finish()
  }
}
