import CPeerSQLite

/// A connection to a database, configured as SQLite's manual advises for a program that writes often.
final class SQLiteConnection {
  let handle: OpaquePointer

  init(_ path: String, _ waiting: Waiting) throws {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    guard sqlite3_open_v2(path, &handle, flags, nil) == SQLITE_OK, let handle else {
      throw Failure("SQLite does not open \(path)")
    }
    self.handle = handle
    try execute("PRAGMA journal_mode = WAL")
    try execute("PRAGMA synchronous = \(waiting == .durable ? "FULL" : "NORMAL")")
  }

  func execute(_ text: String) throws {
    guard sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK else { throw failure }
  }

  /// Makes the database small.
  func compact() throws {
    try execute("VACUUM")
    try execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  var failure: Failure { Failure("SQLite: \(String(cString: sqlite3_errmsg(handle)))") }

  deinit { sqlite3_close_v2(handle) }
}

/// A prepared statement. Parameters count from 1, columns from 0.
final class SQLiteStatement {
  private let connection: SQLiteConnection
  private let handle: OpaquePointer
  /// The names of its columns.
  let columns: [String]

  init(_ connection: SQLiteConnection, _ text: String) throws {
    var handle: OpaquePointer?
    let flags = UInt32(SQLITE_PREPARE_PERSISTENT)
    guard sqlite3_prepare_v3(connection.handle, text, -1, flags, &handle, nil) == SQLITE_OK, let handle else {
      throw connection.failure
    }
    self.connection = connection
    self.handle = handle
    columns = (0..<sqlite3_column_count(handle)).map { String(cString: sqlite3_column_name(handle, $0)) }
  }

  deinit { sqlite3_finalize(handle) }

  func bind(_ text: String, at parameter: Int32) {
    var text = text
    text.withUTF8 { bind(UnsafeRawBufferPointer($0), at: parameter) }
  }

  /// Binds a text by its bytes, which are copied.
  func bind(_ bytes: UnsafeRawBufferPointer, at parameter: Int32) {
    // SQLITE_TRANSIENT, a cast that Swift does not import.
    let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    sqlite3_bind_text(
      handle, parameter, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), copied)
  }

  func bind(_ number: Int64, at parameter: Int32) { sqlite3_bind_int64(handle, parameter, number) }
  func bind(_ number: Double, at parameter: Int32) { sqlite3_bind_double(handle, parameter, number) }

  /// Goes to the next row; returns false after the last one.
  func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw connection.failure
    }
  }

  func reset() { sqlite3_reset(handle) }

  /// Runs a statement that returns no rows.
  func run() throws {
    defer { reset() }
    _ = try step()
  }

  func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
  func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

  func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

  /// The bytes of a text. Valid until the next step.
  func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_text(handle, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column)))
  }
}
