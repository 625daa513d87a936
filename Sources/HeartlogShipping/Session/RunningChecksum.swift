import Heartlog

/// The checksum of one direction of a dialogue.
///
/// Each checksum covers all messages so far. A message that was changed, dropped, swapped or repeated is
/// detected at the next checksum.
struct RunningChecksum: ~Copyable {
  private var hasher = SHA256Hasher()
  private var state = Digest([UInt8](repeating: 0, count: 32))

  static let byteCount = 4

  /// Adds a message, including its kind and length.
  ///
  /// - Returns: The four bytes of the checksum that end the message.
  mutating func take(_ head: [UInt8], _ payload: [UInt8]) -> [UInt8] {
    state.withUnsafeBytes { hasher.update($0) }
    hasher.update(head)
    hasher.update(payload)
    state = hasher.finish()
    return Array(state.bytes[..<Self.byteCount])
  }
}
