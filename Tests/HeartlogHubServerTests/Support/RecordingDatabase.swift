import HeartlogFormat
import Synchronization

@testable import HeartlogHubServer

/// Counts the transactions of a database, lets them wait and fail, and records statements.
final class RecordingDatabase: HubDatabase {
  private struct State {
    var transactions = 0
    var error: HeartlogError?
    var statements: Set<SQLStatement> = []
  }

  private let database: SQLiteDatabase
  private let state = Mutex(State())
  /// Held by whoever lets all transactions wait.
  let gate = Mutex(())

  init(_ database: SQLiteDatabase) { self.database = database }

  var transactions: Int { state.withLock { $0.transactions } }

  /// All that were run so far.
  var statements: Set<SQLStatement> { state.withLock { $0.statements } }

  /// The next transaction does nothing.
  func failNext(_ error: HeartlogError) { state.withLock { $0.error = error } }

  var dialect: SQLDialect { database.dialect }

  func read<R>(_ body: (any SQLConnection) throws -> R) throws -> R {
    try database.read { try body(recording($0)) }
  }

  func write<R>(_ body: (any SQLConnection) throws -> R) throws -> R {
    gate.withLock { _ in }
    let error = state.withLock { state in
      state.transactions += 1
      defer { state.error = nil }
      return state.error
    }
    return try database.write { connection in
      let result = try body(recording(connection))
      if let error { throw error }
      return result
    }
  }

  private func recording(_ connection: any SQLConnection) -> any SQLConnection {
    RecordingConnection(connection) { [self] statement in
      state.withLock { _ = $0.statements.insert(statement) }
    }
  }

  func announce(_ vaults: Set<VaultID>) { database.announce(vaults) }

  func observe(_ body: @escaping @Sendable (VaultID) -> Void) { database.observe(body) }

  func close() { database.close() }
}

private final class RecordingConnection: SQLConnection {
  private let connection: any SQLConnection
  private let record: (SQLStatement) -> Void

  init(_ connection: any SQLConnection, record: @escaping (SQLStatement) -> Void) {
    self.connection = connection
    self.record = record
  }

  func run(_ statement: SQLStatement, _ values: [SQLValue]) throws(HeartlogError) -> [[SQLValue]] {
    record(statement)
    return try connection.run(statement, values)
  }

  func run(script: String) throws(HeartlogError) { try connection.run(script: script) }

  func lock(_ vaults: [VaultID]) throws(HeartlogError) { try connection.lock(vaults) }

  func history() throws(HeartlogError) -> String { try connection.history() }
}
