import Heartlog
import HeartlogFiles
import HeartlogHub
import HeartlogProofs

/// Challenges and sessions in the database, for all hubs that use it.
struct PostgresSessions: SessionStore {
  private let connections: PostgresConnections

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
    let rows = try run(.session, [.bytes(token.bytes)])
    guard rows.count == 1 else { return nil }
    guard let vault = VaultID(bytes: try rows.bytes(0, 0)), let key = PublicKey(bytes: try rows.bytes(0, 1))
    else { throw HeartlogError(.corrupt, "the database has a session that is not whole") }
    // The clock of the database is another one.
    let left = UInt64(max(0, try rows.integer(0, 2)))
    return HubSession(vault: vault, key: key, end: MonotonicClock.nanoseconds() + left * 1_000_000)
  }

  /// The function that changes keys has ended them already, in its transaction.
  func end(_ keys: [PublicKey], of vault: VaultID) {}

  private func run(
    _ statement: PostgresStatement, _ parameters: [PostgresValue]
  ) throws(HeartlogError) -> PostgresRows {
    try connections.use { (connection) throws(HeartlogError) in try connection.run(statement, parameters) }
  }
}
