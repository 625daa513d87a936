import HeartlogFormat

/// A session that a client opened: "Sessions" in docs/hub.md.
struct HubSession: Hashable, Sendable {
  let member: VaultMember
  /// Whether the key is that of an invitation, which may read, and admit one device.
  let isInvited: Bool
  /// On the monotonic clock.
  let end: UInt64
}

/// Makes challenges that prove by themselves when and for which host they were made: "Sessions" in docs/hub.md.
///
/// A hub keeps no list of them, so nobody can fill one.
struct ChallengeKey: Sendable {
  private let secret: [UInt8]

  private static let nonceBytes = 8
  private static let proofBytes = 16

  /// - Parameter secret: 32 random bytes, the same at all hubs that serve the same vaults.
  init(secret: [UInt8]) { self.secret = secret }

  /// A challenge for a host.
  ///
  /// - Parameter seconds: Since 1970.
  func challenge(for host: String, at seconds: UInt64) -> HubChallenge {
    let made = seconds.bigEndianBytes + RandomBytes.next(Self.nonceBytes)
    guard let challenge = HubChallenge(made + proof(of: made, host)) else {
      preconditionFailure("a challenge has 32 bytes")
    }
    return challenge
  }

  /// Whether a challenge was made for this host, and not too long ago. The clocks of hubs that share a key may differ by as much.
  func admits(_ challenge: HubChallenge, for host: String, at seconds: UInt64) -> Bool {
    let made = Array(challenge.bytes.dropLast(Self.proofBytes))
    // Looks at all bytes, so that the time it takes says nothing about the right ones.
    let difference = zip(challenge.bytes.suffix(Self.proofBytes), proof(of: made, host)).reduce(0) {
      $0 | ($1.0 ^ $1.1)
    }
    let time = made.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    let age = time > seconds ? time - seconds : seconds - time
    return difference == 0 && age <= UInt64(HubLimits.challengeSeconds)
  }

  private func proof(of made: [UInt8], _ host: String) -> ArraySlice<UInt8> {
    HMAC.sha256(of: made + Array(host.lowercased().utf8), key: secret).prefix(Self.proofBytes)
  }
}

enum RandomBytes {
  /// Bytes of the system's generator.
  static func next(_ count: Int) -> [UInt8] {
    var generator = SystemRandomNumberGenerator()
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
  }
}
