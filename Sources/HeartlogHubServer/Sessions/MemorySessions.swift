import Heartlog
import HeartlogFiles
import HeartlogHub
import HeartlogFormat

/// The sessions of one process. Unchecked: all is guarded by `condition`.
final class MemorySessions: SessionStore, @unchecked Sendable {
  private let key = ChallengeKey(secret: RandomBytes.next(32))
  private let condition = Condition()
  private let now: @Sendable () -> UInt64
  private var sessions: ExpiringTable<Digest, HubSession>
  /// Those that opened a session, as long as they would be good otherwise.
  private var used: ExpiringTable<HubChallenge, Void>
  /// The tokens of each member, oldest first. Some may be over.
  private var tokens: [VaultMember: [Digest]] = [:]

  /// - Parameter now: Nanoseconds since some fixed point.
  init(sessionsMax: Int = 1 << 20, now: @escaping @Sendable () -> UInt64 = MonotonicClock.nanoseconds) {
    sessions = ExpiringTable(countMax: sessionsMax)
    used = ExpiringTable(countMax: sessionsMax)
    self.now = now
  }

  func challengeKey() -> ChallengeKey { key }

  func open(_ token: Digest, for member: VaultMember, with challenge: HubChallenge) -> Bool {
    condition.withLock {
      let now = now()
      used.expire(now)
      guard used[challenge] == nil else { return false }
      // A hub's clock may be behind by as much as a challenge lasts.
      used.insert((), for: challenge, until: now + UInt64(2 * HubLimits.challengeSeconds) * 1_000_000_000)
      sessions.expire(now)
      if tokens.count > 2 * sessions.count + 1_024 {
        tokens = tokens.compactMapValues { tokens in
          let open = tokens.filter { sessions[$0] != nil }
          return open.isEmpty ? nil : open
        }
      }
      var own = (tokens[member] ?? []).filter { sessions[$0] != nil }
      if own.count >= HubLimits.sessionsMax { _ = sessions.remove(own.removeFirst()) }
      tokens[member] = own + [token]
      let end = now + UInt64(HubLimits.sessionSeconds) * 1_000_000_000
      sessions.insert(HubSession(member: member, end: end), for: token, until: end)
      return true
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
