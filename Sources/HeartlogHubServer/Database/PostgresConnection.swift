import CPostgreSQL
import HeartlogFiles
import HeartlogFormat

/// A connection to PostgreSQL. It connects when it is first needed, and again after it broke.
///
/// Unchecked: one thread at a time uses it.
final class PostgresConnection: SQLConnection, @unchecked Sendable {
  /// What `psql` takes: a URL or a list of settings. It may contain a password.
  private let address: String
  private var connection: OpaquePointer?
  private var prepared: [SQLStatement: String] = [:]
  private var knownHistory: String?
  private var isInTransaction = false

  /// What the hub asks for. With these plans, the time of a statement does not depend on when its tables were last analyzed: each looks up rows
  /// by their keys.
  private static let options = """
    -c search_path=heartlog,pg_temp -c statement_timeout=20s -c client_min_messages=warning -c enable_seqscan=off \
    -c enable_hashjoin=off -c enable_mergejoin=off -c plan_cache_mode=force_generic_plan
    """

  init(_ address: String) { self.address = address }

  deinit { PQfinish(connection) }

  func run(_ statement: SQLStatement, _ values: [SQLValue]) throws(HeartlogError) -> [[SQLValue]] {
    try retrying { () throws(HeartlogError) in
      let name: String
      if let known = prepared[statement] {
        name = known
      } else {
        name = "s\(prepared.count)"
        let types = values.map(Self.type)
        _ = try take(PQprepare(connection, name, statement.expanded, Int32(types.count), types))
        prepared[statement] = name
      }
      return try execute(name, values.map(Self.binary))
    }
  }

  func run(script: String) throws(HeartlogError) {
    try retrying { () throws(HeartlogError) in _ = try take(PQexec(connection, script)) }
  }

  func transaction<R>(_ body: (any SQLConnection) throws -> R) throws -> R {
    try run(script: "begin")
    isInTransaction = true
    defer { isInTransaction = false }
    do {
      let result = try body(self)
      try run(script: "commit")
      return result
    } catch {
      // A connection without it is not used again.
      do { try run(script: "rollback") } catch { close() }
      throw error
    }
  }

  func lock(_ vaults: [VaultID]) throws(HeartlogError) {
    // In order, so that two hubs never wait for each other.
    try run(
      "select 1 from vaults where id in (ROWS) order by id for update",
      rows: vaults.map { [.bytes($0.bytes)] }
    )
  }

  /// The system, its timeline, and the file of the table of vaults: another one after a restore or a failover.
  func history() throws(HeartlogError) -> String {
    if let knownHistory { return knownHistory }
    let rows = try run(
      """
      select concat_ws('/', (select system_identifier from pg_control_system()),
        substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8), pg_relation_filenode('vaults'))
      """)
    let history = try rows[0][0].text()
    knownHistory = history
    return history
  }

  /// Waits until the server sends a notice, at most so long, and returns the payloads of all that came.
  func notices(milliseconds: Int32) throws(HeartlogError) -> [String] {
    var descriptor = pollfd(fd: PQsocket(connection), events: Int16(POLLIN), revents: 0)
    _ = poll(&descriptor, 1, milliseconds)
    guard PQconsumeInput(connection) == 1 else { throw failure() }
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
    prepared = [:]
    knownHistory = nil
  }

  // MARK: - Parts

  /// Runs `body` on an open connection. If one that was made before is broken by now, it is run again on a new one, but for what is in a
  /// transaction: all of it may be run twice.
  private func retrying<R>(_ body: () throws(HeartlogError) -> R) throws(HeartlogError) -> R {
    let isNew = connection == nil || PQstatus(connection) != CONNECTION_OK
    guard !isNew || !isInTransaction else { throw failure() }
    if isNew { try connect() }
    do throws(HeartlogError) { return try body() } catch {
      guard !isNew, !isInTransaction, PQstatus(connection) != CONNECTION_OK else { throw error }
      try connect()
      return try body()
    }
  }

  private func connect() throws(HeartlogError) {
    close()
    // What the address says comes after the first ones, and wins.
    let settings: [(String, String)] = [
      ("connect_timeout", "5"), ("tcp_user_timeout", "10000"), ("keepalives_idle", "10"),
      ("target_session_attrs", "read-write"), ("dbname", address),
      ("fallback_application_name", "heartlog-hub"), ("options", Self.options),
    ]
    let words = settings.map { strdup($0.0) }
    let values = settings.map { strdup($0.1) }
    defer { for word in words + values { free(word) } }
    let keywords: [UnsafePointer<CChar>?] = words.map { UnsafePointer($0) } + [nil]
    let contents: [UnsafePointer<CChar>?] = values.map { UnsafePointer($0) } + [nil]
    connection = PQconnectdbParams(keywords, contents, 1)
    guard PQstatus(connection) == CONNECTION_OK else { throw failure() }
  }

  private func execute(_ name: String, _ values: [[UInt8]]) throws(HeartlogError) -> [[SQLValue]] {
    // All bytes one after the other, because libpq wants an address for each.
    let bytes = Array(values.joined()) + [0]
    let result = bytes.withUnsafeBytes { bytes in
      var start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      let places = values.map { value in
        defer { start = start.map { $0 + value.count } }
        return start
      }
      return PQexecPrepared(
        connection, name, Int32(values.count), places, values.map { Int32($0.count) },
        values.map { _ in 1 }, 1)
    }
    return try take(result)
  }

  /// The object id of a type.
  private static func type(of value: SQLValue) -> Oid {
    switch value {
    case .null: 0
    case .bytes: 17
    case .integer: 20
    case .text: 25
    }
  }

  private static func binary(_ value: SQLValue) -> [UInt8] {
    switch value {
    case .null: preconditionFailure("no column may be null")
    case .bytes(let bytes): bytes
    case .integer(let number): Int64(number).bigEndianBytes
    case .text(let text): Array(text.utf8)
    }
  }

  /// The rows of a result, which is freed.
  private func take(_ result: OpaquePointer?) throws(HeartlogError) -> [[SQLValue]] {
    defer { PQclear(result) }
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK: return []
    case PGRES_TUPLES_OK:
      return (0..<PQntuples(result)).map { row in
        (0..<PQnfields(result)).map { column in
          guard PQgetisnull(result, row, column) == 0 else { return .null }
          let bytes = UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
          return switch PQftype(result, column) {
          case 17: .bytes(Array(bytes))
          case 23: .integer(Int(bytes.loadUnaligned(as: Int32.self).bigEndian))
          case 20: .integer(Int(bytes.loadUnaligned(as: Int64.self).bigEndian))
          default: .text(String(decoding: bytes, as: UTF8.self))
          }
        }
      }
    default:
      let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
      throw failure(state == "53100" ? .diskFull : .inputOutput)
    }
  }

  private func failure(_ code: HeartlogError.Code = .inputOutput) -> HeartlogError {
    let message = PQerrorMessage(connection).map { String(cString: $0) } ?? "out of memory"
    return HeartlogError(code, "PostgreSQL: \(message.split(separator: "\n").joined(separator: "; "))")
  }
}
