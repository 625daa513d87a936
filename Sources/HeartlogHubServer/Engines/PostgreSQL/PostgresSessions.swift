import Heartlog
import HeartlogFiles
import HeartlogHub
import HeartlogFormat
import Synchronization

/// Sessions in the database, for all hubs that use it. A hub remembers the sessions that it has seen: whether a key is
/// admitted, the engine looks at each call.
final class PostgresSessions: SessionStore {
  private let connections: PostgresConnections
  /// Some 200 bytes each.
  private let seen = Mutex(ExpiringTable<Digest, HubSession>(countMax: 1 << 18))
  private let key = Mutex<ChallengeKey?>(nil)

  init(_ connections: PostgresConnections) { self.connections = connections }

  func challengeKey() throws(HeartlogError) -> ChallengeKey {
    if let key = key.withLock({ $0 }) { return key }
    let key = ChallengeKey(secret: try run(.secret, []).bytes(0, 0))
    self.key.withLock { $0 = key }
    return key
  }

  func open(
    _ token: Digest, for member: VaultMember, with challenge: HubChallenge
  ) throws(HeartlogError) -> Bool {
    let rows = try run(
      .openSession,
      [
        .bytes(token.bytes), .uuid(member.vault.bytes), .uuid(member.owner.bytes), .bytes(member.key.bytes),
        .bytes(challenge.bytes),
        .int32(Int32(HubLimits.sessionSeconds)), .int32(Int32(HubLimits.sessionsMax)),
      ])
    return try rows.integer(0, 0) == 1
  }

  func session(_ token: Digest) throws(HeartlogError) -> HubSession? {
    let now = MonotonicClock.nanoseconds()
    if let session = seen.withLock({ $0[token] }), session.end > now { return session }
    let rows = try run(.session, [.bytes(token.bytes)])
    guard rows.count == 1 else { return nil }
    guard let vault = VaultID(bytes: try rows.bytes(0, 0)), let key = PublicKey(bytes: try rows.bytes(0, 1))
    else { throw HeartlogError(.corrupt, "the database has a session that is not whole") }
    // The clock of the database is another one.
    let left = UInt64(max(0, try rows.integer(0, 2)))
    let session = HubSession(
      member: VaultMember(vault: vault, key: key), end: MonotonicClock.nanoseconds() + left * 1_000_000)
    seen.withLock { seen in
      seen.expire(now)
      seen.insert(session, for: token, until: session.end)
    }
    return session
  }

  /// The function that changes keys has ended them in the database, in its transaction.
  func end(_ keys: [PublicKey], of vault: VaultID) {
    guard !keys.isEmpty else { return }
    let members = Set(keys.map { VaultMember(vault: vault, key: $0) })
    seen.withLock { $0.removeAll { members.contains($0.member) } }
  }

  private func run(
    _ statement: PostgresStatement, _ parameters: [PostgresValue]
  ) throws(HeartlogError) -> PostgresRows {
    try connections.use { (connection) throws(HeartlogError) in try connection.run(statement, parameters) }
  }
}
