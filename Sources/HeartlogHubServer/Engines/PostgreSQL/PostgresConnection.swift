import CPostgreSQL
import Heartlog

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A connection to a database. It connects when it is first needed, and again after it broke.
///
/// Only one thread uses it at a time: the one that made it, or that borrowed it of `PostgresConnections`.
final class PostgresConnection: @unchecked Sendable {
  /// What `psql` takes: a URL or a list of settings. It may contain a password.
  private let address: String
  private var connection: OpaquePointer?
  private var prepared: Set<PostgresStatement> = []
  /// Distinguishes this database, and each history that it takes after a restore or a failover: another one may lack changes.
  private(set) var history = ""

  init(_ address: String) { self.address = address }

  deinit { PQfinish(connection) }

  /// Runs a statement, and returns its rows. If a connection that was made before is broken by now, the statement is run again on a new
  /// one: all of them may be run twice.
  ///
  /// - Throws: `inputOutput`; it may have been run nevertheless.
  @discardableResult
  func run(_ statement: PostgresStatement, _ parameters: [PostgresValue] = []) throws(HeartlogError)
    -> PostgresRows
  {
    let isNew = try connect()
    do throws(HeartlogError) { return try runOnce(statement, parameters) } catch {
      guard !isNew, PQstatus(connection) != CONNECTION_OK else { throw error }
      try connect()
      return try runOnce(statement, parameters)
    }
  }

  private func runOnce(
    _ statement: PostgresStatement, _ parameters: [PostgresValue]
  ) throws(HeartlogError) -> PostgresRows {
    if !prepared.contains(statement) {
      _ = try take(PQprepare(connection, statement.rawValue, statement.text, 0, nil), of: statement.rawValue)
      prepared.insert(statement)
    }
    // All bytes one behind the other, because libpq wants an address for each.
    var offsets: [Int] = []
    var bytes: [UInt8] = []
    bytes.reserveCapacity(parameters.reduce(1) { $0 + ($1.bytes?.count ?? 0) })
    for parameter in parameters {
      offsets.append(bytes.count)
      bytes += parameter.bytes ?? []
    }
    bytes.append(0)
    let lengths = parameters.map { Int32($0.bytes?.count ?? 0) }
    let formats = [Int32](repeating: 1, count: parameters.count)
    let result = bytes.withUnsafeBufferPointer { bytes in
      let start = UnsafeRawPointer(bytes.baseAddress!).assumingMemoryBound(to: CChar.self)
      let values = zip(parameters, offsets).map { $0.bytes == nil ? nil : start + $1 }
      return PQexecPrepared(
        connection, statement.rawValue, Int32(parameters.count), values, lengths, formats, 1)
    }
    return try take(result, of: statement.rawValue)
  }

  /// Runs text of one or more statements without parameters.
  func run(text: String) throws(HeartlogError) -> PostgresRows {
    try connect()
    return try take(PQexec(connection, text), of: "a statement")
  }

  /// Makes this database's schema, or brings it to the newest version.
  ///
  /// - Throws: `newerFormat` if a newer hub made it.
  func migrate() throws(HeartlogError) {
    let lock = PostgresSchema.migrationLock
    _ = try run(text: "select pg_advisory_lock(\(lock))")
    defer { _ = try? run(text: "select pg_advisory_unlock(\(lock))") }
    _ = try run(
      text: "create schema if not exists heartlog; "
        + "create table if not exists heartlog.schema_version (version integer not null)")
    // Text: this result is not that of a prepared statement.
    let rows = try run(text: "select max(version)::text from heartlog.schema_version")
    let version = rows.isNull(0, 0) ? 0 : Int(try rows.text(0, 0)) ?? 0
    guard version <= PostgresSchema.migrations.count else {
      throw HeartlogError(
        .newerFormat,
        "the schema of the database has version \(version); this hub knows up to \(PostgresSchema.migrations.count): install a newer one"
      )
    }
    for next in version..<PostgresSchema.migrations.count {
      _ = try run(
        text: "begin; \(PostgresSchema.migrations[next]); "
          + "insert into heartlog.schema_version values (\(next + 1)); commit")
    }
  }

  /// Waits until the server sends a notice, at most so long, and returns the payloads of all that came.
  func notices(milliseconds: Int32) throws(HeartlogError) -> [String] {
    try connect()
    var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
    _ = poll(&descriptor, 1, milliseconds)
    guard PQconsumeInput(connection) == 1 else { throw failure("listening") }
    var payloads: [String] = []
    while let notice = PQnotifies(connection) {
      payloads.append(String(cString: notice.pointee.extra))
      PQfreemem(notice)
    }
    return payloads
  }

  func close() {
    PQfinish(connection)
    connection = nil
    prepared = []
  }

  // MARK: - Parts

  /// - Returns: Whether the connection is a new one.
  @discardableResult
  private func connect() throws(HeartlogError) -> Bool {
    if connection != nil, PQstatus(connection) == CONNECTION_OK { return false }
    close()
    // What the address says comes after these, and wins. The last ones are the hub's own.
    let settings: [(String, String)] = [
      ("connect_timeout", "5"), ("tcp_user_timeout", "10000"), ("keepalives_idle", "10"),
      ("target_session_attrs", "read-write"), ("dbname", address),
      ("fallback_application_name", "heartlog-hub"),
      ("options", "-c search_path=heartlog,pg_temp -c statement_timeout=20s -c client_min_messages=warning"),
    ]
    let words = settings.map { strdup($0.0) }
    let values = settings.map { strdup($0.1) }
    defer { for word in words + values { free(word) } }
    var keywords: [UnsafePointer<CChar>?] = words.map { UnsafePointer($0) } + [nil]
    var contents: [UnsafePointer<CChar>?] = values.map { UnsafePointer($0) } + [nil]
    connection = PQconnectdbParams(&keywords, &contents, 1)
    guard PQstatus(connection) == CONNECTION_OK else { throw failure("connecting to the database") }
    let rows = try take(
      PQexec(
        connection,
        """
        select concat_ws('/', (select system_identifier from pg_control_system()),
          substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), pg_relation_filenode(to_regclass('heartlog.vaults')))
        """
      ), of: "the history")
    history = try rows.text(0, 0)
    return true
  }

  private func failure(_ what: String) -> HeartlogError {
    let message = PQerrorMessage(connection).map { String(cString: $0) } ?? "out of memory"
    return HeartlogError(
      .inputOutput, "\(what) failed: \(message.split(separator: "\n").joined(separator: "; "))")
  }

  /// The rows of a result, which is freed.
  private func take(_ result: OpaquePointer?, of what: String) throws(HeartlogError) -> PostgresRows {
    defer { PQclear(result) }
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK: return PostgresRows([])
    case PGRES_TUPLES_OK:
      return PostgresRows(
        (0..<PQntuples(result)).map { row in
          (0..<PQnfields(result)).map { column in
            guard PQgetisnull(result, row, column) == 0, let bytes = PQgetvalue(result, row, column) else {
              return nil
            }
            return [UInt8](
              UnsafeRawBufferPointer(start: bytes, count: Int(PQgetlength(result, row, column))))
          }
        })
    default: throw failure(what)
    }
  }
}
