import HeartlogFormat

/// A session that a client opened: "Sessions" in docs/hub.md.
struct HubSession: Hashable, Sendable {
  /// SHA-256 of what the client has.
  let token: Digest
  let member: VaultMember
  /// Whether the key is that of an invitation, which may read, and admit one device.
  let isInvited: Bool
  /// On the monotonic clock.
  let end: UInt64
}

enum RandomBytes {
  /// Bytes of the system's generator.
  static func next(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
  }
}
