import Heartlog
import HeartlogFiles
import HeartlogHub
import HeartlogProofs
import Synchronization

/// Challenges and sessions in the database, for all hubs that use it. A hub remembers the sessions that it has seen: whether a key is
/// admitted, the engine looks at each call.
final class PostgresSessions: SessionStore {
  private let connections: PostgresConnections
  private let seen = Mutex(ExpiringTable<Digest, HubSession>())
  /// Some 200 bytes each.
  private static let seenMax = 1 << 18

  init(_ connections: PostgresConnections) { self.connections = connections }

  func add(_ challenge: HubChallenge) throws(HeartlogError) -> Bool {
    let rows = try run(
      .addChallenge,
      [
        .bytes(challenge.bytes), .int32(Int32(HubLimits.challengeSeconds)),
        .int32(Int32(HubLimits.challengesMax)),
      ])
    return try rows.integer(0, 0) == 1
  }

  func take(_ challenge: HubChallenge) throws(HeartlogError) -> Bool {
    try run(.takeChallenge, [.bytes(challenge.bytes)]).count == 1
  }

  func open(_ token: Digest, vault: VaultID, key: PublicKey) throws(HeartlogError) {
    _ = try run(
      .openSession,
      [
        .bytes(token.bytes), .uuid(vault.bytes), .bytes(key.bytes), .int32(Int32(HubLimits.sessionSeconds)),
      ])
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
      if seen.count >= Self.seenMax { seen = ExpiringTable() }
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
