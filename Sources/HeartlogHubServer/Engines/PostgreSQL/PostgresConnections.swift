import Heartlog
import Synchronization

/// Connections that threads borrow.
final class PostgresConnections: Sendable {
  private let address: String
  /// The most that stay open when nobody uses them.
  private let idleMax: Int
  private let idle = Mutex<[PostgresConnection]>([])

  init(_ address: String, idleMax: Int) {
    self.address = address
    self.idleMax = idleMax
  }

  /// Runs `body` with a connection that nobody else uses meanwhile.
  func use<R>(_ body: (PostgresConnection) throws(HeartlogError) -> R) throws(HeartlogError) -> R {
    let connection = take()
    defer { give(connection) }
    return try body(connection)
  }

  func close() { idle.withLock { $0 = [] } }

  private func take() -> PostgresConnection {
    idle.withLock { $0.popLast() } ?? PostgresConnection(address)
  }

  private func give(_ connection: PostgresConnection) {
    idle.withLock { if $0.count < idleMax { $0.append(connection) } }
  }
}
