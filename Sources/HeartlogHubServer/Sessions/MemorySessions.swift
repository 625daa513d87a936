import Heartlog
import HeartlogFiles
import HeartlogHub
import HeartlogProofs

/// Challenges and sessions of one process. Unchecked: all is guarded by `condition`.
final class MemorySessions: SessionStore, @unchecked Sendable {
  private let condition = Condition()
  private let now: @Sendable () -> UInt64
  private var challenges = ExpiringTable<HubChallenge, Void>()
  private var sessions = ExpiringTable<Digest, HubSession>()
  private let sessionsMax: Int

  /// - Parameter now: Nanoseconds since some fixed point.
  init(sessionsMax: Int = 1 << 20, now: @escaping @Sendable () -> UInt64 = MonotonicClock.nanoseconds) {
    self.sessionsMax = sessionsMax
    self.now = now
  }

  func add(_ challenge: HubChallenge) -> Bool {
    condition.withLock {
      let now = now()
      challenges.expire(now)
      guard challenges.count < HubLimits.challengesMax else { return false }
      challenges.insert((), for: challenge, until: now + UInt64(HubLimits.challengeSeconds) * 1_000_000_000)
      return true
    }
  }

  func take(_ challenge: HubChallenge) -> Bool {
    condition.withLock {
      challenges.expire(now())
      return challenges.remove(challenge) != nil
    }
  }

  func open(_ token: Digest, vault: VaultID, key: PublicKey) throws(HeartlogError) {
    try condition.withLock { () throws(HeartlogError) in
      let now = now()
      sessions.expire(now)
      guard sessions.count < sessionsMax else { throw HeartlogError(.locked, "too many sessions are open") }
      let end = now + UInt64(HubLimits.sessionSeconds) * 1_000_000_000
      sessions.insert(
        HubSession(member: VaultMember(vault: vault, key: key), end: end), for: token, until: end)
    }
  }

  func session(_ token: Digest) -> HubSession? {
    condition.withLock {
      guard let session = sessions[token], session.end > now() else { return nil }
      return session
    }
  }

  func end(_ keys: [PublicKey], of vault: VaultID) {
    guard !keys.isEmpty else { return }
    let keys = Set(keys)
    condition.withLock { sessions.removeAll { $0.member.vault == vault && keys.contains($0.member.key) } }
  }
}
