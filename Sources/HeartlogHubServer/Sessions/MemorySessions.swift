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
      sessions.insert(HubSession(vault: vault, key: key, end: end), for: token, until: end)
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
    condition.withLock { sessions.removeAll { $0.vault == vault && keys.contains($0.key) } }
  }
}

/// Values that go at a time. All are inserted with the same time to live, so the first ones in go first.
private struct ExpiringTable<Key: Hashable, Value> {
  private var values: [Key: (value: Value, end: UInt64)] = [:]
  private var queue: [(key: Key, end: UInt64)] = []
  private var queueStart = 0

  var count: Int { values.count }

  subscript(key: Key) -> Value? { values[key]?.value }

  mutating func insert(_ value: Value, for key: Key, until end: UInt64) {
    values[key] = (value, end)
    queue.append((key, end))
  }

  mutating func remove(_ key: Key) -> Value? { values.removeValue(forKey: key)?.value }

  mutating func removeAll(where isGone: (Value) -> Bool) {
    values = values.filter { !isGone($0.value.value) }
  }

  mutating func expire(_ now: UInt64) {
    while queueStart < queue.count, queue[queueStart].end <= now {
      values[queue[queueStart].key] = nil
      queueStart += 1
    }
    guard queueStart > 1_024, queueStart > queue.count / 2 else { return }
    queue.removeFirst(queueStart)
    queueStart = 0
  }
}
