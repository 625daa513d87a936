import Heartlog

/// The checksum of one direction of a dialogue. Each message's covers all messages before it, so that what is flipped,
/// left out, swapped or said twice is found at the next message.
struct RunningChecksum: ~Copyable {
  private var hasher = SHA256Hasher()
  private var state = Digest([UInt8](repeating: 0, count: 32))

  static let byteCount = 4

  /// Takes a message in, its kind and length included.
  ///
  /// - Returns: the four bytes that end it.
  mutating func take(_ head: [UInt8], _ payload: [UInt8]) -> [UInt8] {
    state.withUnsafeBytes { hasher.update($0) }
    hasher.update(head)
    hasher.update(payload)
    state = hasher.finish()
    return Array(state.bytes[..<Self.byteCount])
  }
}
