/// HMAC with SHA-256 (RFC 2104).
package enum HMAC {
  private static let blockBytes = 64

  /// The 32 bytes of the code of a message.
  package static func sha256(of message: some Sequence<UInt8>, key: [UInt8]) -> [UInt8] {
    let key = key.count <= blockBytes ? key : SHA256Hasher.digest(of: key).bytes
    let padded = key + [UInt8](repeating: 0, count: blockBytes - key.count)
    let inner = SHA256Hasher.digest(of: padded.map { $0 ^ 0x36 } + message).bytes
    return SHA256Hasher.digest(of: padded.map { $0 ^ 0x5C } + inner).bytes
  }
}
