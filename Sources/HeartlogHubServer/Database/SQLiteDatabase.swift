import CSQLite
import Dispatch
import HeartlogFiles
import HeartlogFormat
import Synchronization

/// A file of SQLite, for one hub: "The store" in docs/hub.md.
final class SQLiteDatabase: HubDatabase {
  let dialect = SQLDialect(counters: "without rowid")
  private let lock: any LockFile
  private let writer: SQLiteConnection
  /// Whoever writes, first come, first served.
  private let writing = DispatchQueue(label: "heartlog.hub.writing")
  private let readers: ConnectionPool<SQLiteConnection>
  private let observers = Mutex<[@Sendable (VaultID) -> Void]>([])

  /// Opens a file, which is made if there is none.
  ///
  /// - Throws: `locked` if another process has it, `corrupt` if it is no database.
  init(at path: String) throws(HeartlogError) {
    let files = POSIXFileSystem()
    try files.createParents(of: path)
    lock = try files.openLock(path + ".lock")
    guard try lock.tryLock() else {
      throw HeartlogError(.locked, "another process has this file", file: path)
    }
    // With the permissions of a file that is nobody else's; SQLite gives the same to the files beside it.
    if try files.info(path) == nil { _ = try files.open(path, .createNew) }
    // Another one at each start: the file may have been restored from a copy, so numbers may be given twice.
    let history = "\(UInt64.random(in: .min ... .max))"
    writer = try SQLiteConnection(path, history: history)
    readers = ConnectionPool(idleMax: 4) { () throws(HeartlogError) in
      try SQLiteConnection(path, history: history)
    }
    try writer.run(script: "pragma journal_mode = wal")
  }

  /// Copies the file of a hub, which may run meanwhile, to a new one.
  ///
  /// - Throws: `notFound` if there is no file, `exists` if there is something at `copy`, `corrupt` if the file is no hub's.
  static func copy(_ path: String, to copy: String) throws(HeartlogError) {
    let files = POSIXFileSystem()
    guard try files.info(path) != nil else {
      throw HeartlogError(.notFound, "there is no database", file: path)
    }
    guard try files.info(copy) == nil else {
      throw HeartlogError(.exists, "there already is something", file: copy)
    }
    let source = try SQLiteConnection(path)
    let tables = try source.run(
      "select count(*) from sqlite_schema where name in ('hub', 'vaults', 'members', 'objects')")
    guard tables == [[.integer(4)]] else {
      throw HeartlogError(.corrupt, "this is no hub's database", file: path)
    }
    let temporary = "\(copy).tmp-\(Hexadecimal.text(RandomBytes.next(8)))"
    let file = try files.open(temporary, .createNew)
    do throws(HeartlogError) {
      // One transaction, which no writer waits for.
      try source.run("vacuum into $1", .text(temporary))
      try file.synchronize()
    } catch {
      try? files.remove(temporary)
      throw error
    }
    try files.giveName(copy, to: temporary)
  }

  func read<R>(_ body: (any SQLConnection) throws -> R) throws -> R { try readers.use(body) }

  func write<R>(_ body: (any SQLConnection) throws -> R) throws -> R {
    try writing.sync { try writer.transaction(body) }
  }

  func announce(_ vaults: Set<VaultID>) {
    let observers = observers.withLock { $0 }
    for vault in vaults { for observer in observers { observer(vault) } }
  }

  func observe(_ body: @escaping @Sendable (VaultID) -> Void) { observers.withLock { $0.append(body) } }

  func close() {
    readers.close()
    writer.close()
    lock.unlock()
  }
}

/// A connection to a file of SQLite. Unchecked: one thread at a time uses it.
private final class SQLiteConnection: SQLConnection, @unchecked Sendable {
  private let path: String
  private let identity: String
  private var handle: OpaquePointer?
  private var prepared: [SQLStatement: OpaquePointer] = [:]

  /// Every commit is synchronized. A checkpoint writes what waits in the log, of which there are 32 MiB by then, so that a page that was
  /// changed many times is written once.
  private static let settings = """
    pragma synchronous = full;
    pragma wal_autocheckpoint = 8192;
    pragma journal_size_limit = 67108864;
    pragma cache_size = -65536;
    """
  /// How long another process may keep the file, which copies it.
  private static let busyMilliseconds: Int32 = 10_000

  init(_ path: String, history: String = "") throws(HeartlogError) {
    self.path = path
    identity = history
    guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK else {
      throw failure()
    }
    sqlite3_busy_timeout(handle, Self.busyMilliseconds)
    try run(script: Self.settings)
  }

  deinit { close() }

  func close() {
    for statement in prepared.values { sqlite3_finalize(statement) }
    prepared = [:]
    sqlite3_close(handle)
    handle = nil
  }

  func history() -> String { identity }

  /// A transaction that writes is alone from its start.
  func lock(_ vaults: [VaultID]) {}

  func transaction<R>(_ body: (any SQLConnection) throws -> R) throws -> R {
    try run(script: "begin immediate")
    do {
      let result = try body(self)
      try run(script: "commit")
      return result
    } catch {
      // Some errors have ended it already. A rollback ends it in any case.
      if sqlite3_get_autocommit(handle) == 0 { try? run(script: "rollback") }
      throw error
    }
  }

  func run(script: String) throws(HeartlogError) {
    guard sqlite3_exec(handle, script, nil, nil, nil) == SQLITE_OK else { throw failure() }
  }

  func run(_ statement: SQLStatement, _ values: [SQLValue]) throws(HeartlogError) -> [[SQLValue]] {
    let prepared = try prepare(statement)
    defer {
      sqlite3_reset(prepared)
      // Lets go of the bytes of objects.
      sqlite3_clear_bindings(prepared)
    }
    for (index, value) in values.enumerated() {
      guard bind(value, prepared, Int32(index + 1)) == SQLITE_OK else { throw failure() }
    }
    var rows: [[SQLValue]] = []
    while true {
      switch sqlite3_step(prepared) {
      case SQLITE_ROW: rows.append((0..<sqlite3_column_count(prepared)).map { Self.column(prepared, $0) })
      case SQLITE_DONE: return rows
      default: throw failure()
      }
    }
  }

  private func prepare(_ statement: SQLStatement) throws(HeartlogError) -> OpaquePointer? {
    if let known = prepared[statement] { return known }
    var made: OpaquePointer?
    guard sqlite3_prepare_v2(handle, statement.expanded, -1, &made, nil) == SQLITE_OK else { throw failure() }
    for index in 1...max(1, sqlite3_bind_parameter_count(made)) {
      assert(sqlite3_bind_parameter_name(made, index).map { String(cString: $0) } ?? "$1" == "$\(index)")
    }
    prepared[statement] = made
    return made
  }

  private func bind(_ value: SQLValue, _ statement: OpaquePointer?, _ index: Int32) -> Int32 {
    /// SQLITE_TRANSIENT: SQLite copies the bytes.
    let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    return switch value {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let number): sqlite3_bind_int64(statement, index, Int64(number))
    case .text(let text): sqlite3_bind_text(statement, index, text, -1, copies)
    // The address of no bytes would be null.
    case .bytes([]): sqlite3_bind_zeroblob(statement, index, 0)
    case .bytes(let bytes): sqlite3_bind_blob64(statement, index, bytes, UInt64(bytes.count), copies)
    }
  }

  private static func column(_ statement: OpaquePointer?, _ index: Int32) -> SQLValue {
    switch sqlite3_column_type(statement, index) {
    case SQLITE_INTEGER: .integer(Int(sqlite3_column_int64(statement, index)))
    case SQLITE_TEXT: .text(sqlite3_column_text(statement, index).map { String(cString: $0) } ?? "")
    case SQLITE_BLOB:
      .bytes(
        Array(
          UnsafeRawBufferPointer(
            start: sqlite3_column_blob(statement, index), count: Int(sqlite3_column_bytes(statement, index))))
      )
    default: .null
    }
  }

  private func failure() -> HeartlogError {
    let system = sqlite3_system_errno(handle)
    let code: HeartlogError.Code =
      switch sqlite3_errcode(handle) {
      case SQLITE_FULL: .diskFull
      case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
      case SQLITE_BUSY: .locked
      case SQLITE_READONLY, SQLITE_PERM: .readOnly
      case SQLITE_IOERR where [ENOSPC, EDQUOT, EFBIG].contains(system): .diskFull
      default: .inputOutput
      }
    return HeartlogError(
      code, "SQLite: \(String(cString: sqlite3_errmsg(handle))) (\(sqlite3_extended_errcode(handle)))",
      file: path)
  }
}
