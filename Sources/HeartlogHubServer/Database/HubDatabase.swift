import HeartlogFormat
import Synchronization

/// What keeps the vaults of a hub: a file of SQLite, or a PostgreSQL database. Both take the same statements. Calls may come from any thread,
/// and take as long as a disk does.
protocol HubDatabase: Sendable {
  /// Runs `body` with a connection that nobody else uses meanwhile.
  func read<R>(_ body: (any SQLConnection) throws -> R) throws -> R

  /// Runs `body` in a transaction, which is durable when this returns, and undone if `body` throws.
  ///
  /// - Throws: What `body` throws; `diskFull`; `inputOutput` if the transaction may have been committed nevertheless.
  func write<R>(_ body: (any SQLConnection) throws -> R) throws -> R

  /// Statements before the first one of a transaction that makes or migrates the schema, and what differs in the schema.
  var dialect: SQLDialect { get }

  /// Reports that objects were put in vaults, to all hubs of this database. A hint: it may be lost.
  func announce(_ vaults: Set<VaultID>)

  /// From now on calls `body` for each vault that is announced, from any thread.
  func observe(_ body: @escaping @Sendable (VaultID) -> Void)

  func close()
}

/// A connection to a database. One thread at a time uses it.
protocol SQLConnection: AnyObject {
  /// Runs a statement, and returns its rows.
  func run(_ statement: SQLStatement, _ values: [SQLValue]) throws(HeartlogError) -> [[SQLValue]]

  /// Runs statements without parameters, and drops their rows.
  func run(script: String) throws(HeartlogError)

  /// From now until the end of the transaction nobody else changes these vaults.
  func lock(_ vaults: [VaultID]) throws(HeartlogError)

  /// Another one after whatever may have brought the database back to an earlier state.
  func history() throws(HeartlogError) -> String
}

/// The text of a statement, which each connection prepares once.
struct SQLStatement: Hashable {
  /// Parameters are `$1`, `$2`…, in this order. `ROWS` stands for rows of parameters.
  let text: String
  var rowCount = 0
  var columnCount = 0

  /// The text with all parameters.
  var expanded: String {
    let rows = (0..<rowCount).map { row in
      "(" + (1...columnCount).map { "$\(row * columnCount + $0)" }.joined(separator: ", ") + ")"
    }
    return text.replacing("ROWS", with: rows.joined(separator: ", "))
  }
}

extension SQLConnection {
  @discardableResult
  func run(_ text: String, _ values: SQLValue...) throws(HeartlogError) -> [[SQLValue]] {
    try run(SQLStatement(text: text), values)
  }

  /// Runs a statement once for all rows of parameters. Only powers of two are prepared: the last row is repeated, which the statement must not
  /// mind.
  @discardableResult
  func run(_ text: String, rows: [[SQLValue]]) throws(HeartlogError) -> [[SQLValue]] {
    guard let last = rows.last else { return [] }
    var count = 1
    while count < rows.count { count *= 2 }
    return try run(
      SQLStatement(text: text, rowCount: count, columnCount: last.count),
      Array((rows + repeatElement(last, count: count - rows.count)).joined()))
  }
}

/// A parameter or a column.
enum SQLValue: Hashable, Sendable {
  case null
  case integer(Int)
  case text(String)
  case bytes([UInt8])

  func integer() throws(HeartlogError) -> Int {
    if case .integer(let number) = self { return number }
    throw unexpected("a number")
  }

  func text() throws(HeartlogError) -> String {
    if case .text(let text) = self { return text }
    throw unexpected("a text")
  }

  func bytes() throws(HeartlogError) -> [UInt8] {
    if case .bytes(let bytes) = self { return bytes }
    throw unexpected("bytes")
  }

  private func unexpected(_ what: String) -> HeartlogError {
    HeartlogError(.corrupt, "the database has no \(what) where it should")
  }
}

/// Connections that threads borrow.
final class ConnectionPool<Connection: AnyObject & Sendable>: Sendable {
  private let open: @Sendable () throws(HeartlogError) -> Connection
  /// The most that stay open when nobody uses them.
  private let idleMax: Int
  private let idle = Mutex<[Connection]>([])

  init(idleMax: Int, _ open: @escaping @Sendable () throws(HeartlogError) -> Connection) {
    self.idleMax = idleMax
    self.open = open
  }

  /// Runs `body` with a connection that nobody else uses meanwhile.
  func use<R>(_ body: (Connection) throws -> R) throws -> R {
    let connection = if let idle = idle.withLock({ $0.popLast() }) { idle } else { try open() }
    defer { idle.withLock { if $0.count < idleMax { $0.append(connection) } } }
    return try body(connection)
  }

  func close() { idle.withLock { $0 = [] } }
}
