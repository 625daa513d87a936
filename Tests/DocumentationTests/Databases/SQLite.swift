import Foundation

// What the examples of "Moving in" use of SQLite. On Linux it is loaded when a test runs, if the machine has it: the package does
// not link to it.

#if canImport(SQLite3)
  import SQLite3

  nonisolated let hasSQLite = true
#else
  nonisolated let SQLITE_OK: Int32 = 0
  nonisolated let SQLITE_ERROR: Int32 = 1
  nonisolated let SQLITE_NULL: Int32 = 5
  nonisolated let SQLITE_ROW: Int32 = 100
  nonisolated let SQLITE_DONE: Int32 = 101

  /// A handle of `dlopen`, which may be used from any thread.
  nonisolated(unsafe) private let library = dlopen("libsqlite3.so.0", RTLD_NOW)

  nonisolated let hasSQLite = library != nil

  /// Returns a function of the library.
  ///
  /// - Parameter type: the type that SQLite's header declares; nothing else checks it.
  nonisolated private func function<F>(_ name: String, _ type: F.Type) -> F? {
    library.flatMap { dlsym($0, name) }.map { unsafeBitCast($0, to: type) }
  }

  private typealias OfObject = @convention(c) (OpaquePointer?) -> Int32
  private typealias OfColumn = @convention(c) (OpaquePointer?, Int32) -> Int32

  nonisolated func sqlite3_open(
    _ path: UnsafePointer<CChar>, _ database: UnsafeMutablePointer<OpaquePointer?>
  ) -> Int32 {
    typealias Open = @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<OpaquePointer?>) -> Int32
    return function("sqlite3_open", Open.self)?(path, database) ?? SQLITE_ERROR
  }

  @discardableResult
  nonisolated func sqlite3_close(_ database: OpaquePointer?) -> Int32 {
    function("sqlite3_close", OfObject.self)?(database) ?? SQLITE_ERROR
  }

  nonisolated func sqlite3_errmsg(_ database: OpaquePointer?) -> UnsafePointer<CChar> {
    typealias Message = @convention(c) (OpaquePointer?) -> UnsafePointer<CChar>
    return function("sqlite3_errmsg", Message.self)?(database) ?? UnsafePointer(strerror(ENOSYS))
  }

  @discardableResult
  nonisolated func sqlite3_exec(
    _ database: OpaquePointer?, _ sql: UnsafePointer<CChar>, _ callback: OpaquePointer?,
    _ context: OpaquePointer?, _ message: OpaquePointer?
  ) -> Int32 {
    typealias Execute =
      @convention(c) (
        OpaquePointer?, UnsafePointer<CChar>, OpaquePointer?, OpaquePointer?, OpaquePointer?
      ) -> Int32
    return function("sqlite3_exec", Execute.self)?(database, sql, callback, context, message) ?? SQLITE_ERROR
  }

  nonisolated func sqlite3_prepare_v2(
    _ database: OpaquePointer?, _ sql: UnsafePointer<CChar>, _ bytes: Int32,
    _ statement: UnsafeMutablePointer<OpaquePointer?>, _ rest: OpaquePointer?
  ) -> Int32 {
    typealias Prepare =
      @convention(c) (
        OpaquePointer?, UnsafePointer<CChar>, Int32, UnsafeMutablePointer<OpaquePointer?>, OpaquePointer?
      ) -> Int32
    return function("sqlite3_prepare_v2", Prepare.self)?(database, sql, bytes, statement, rest)
      ?? SQLITE_ERROR
  }

  nonisolated func sqlite3_step(_ statement: OpaquePointer?) -> Int32 {
    function("sqlite3_step", OfObject.self)?(statement) ?? SQLITE_ERROR
  }

  @discardableResult
  nonisolated func sqlite3_finalize(_ statement: OpaquePointer?) -> Int32 {
    function("sqlite3_finalize", OfObject.self)?(statement) ?? SQLITE_ERROR
  }

  nonisolated func sqlite3_column_type(_ statement: OpaquePointer?, _ column: Int32) -> Int32 {
    function("sqlite3_column_type", OfColumn.self)?(statement, column) ?? SQLITE_NULL
  }

  nonisolated func sqlite3_column_text(_ statement: OpaquePointer?, _ column: Int32) -> UnsafePointer<UInt8>?
  {
    typealias Text = @convention(c) (OpaquePointer?, Int32) -> UnsafePointer<UInt8>?
    return function("sqlite3_column_text", Text.self)?(statement, column) ?? nil
  }

  nonisolated func sqlite3_column_int64(_ statement: OpaquePointer?, _ column: Int32) -> Int64 {
    typealias Integer = @convention(c) (OpaquePointer?, Int32) -> Int64
    return function("sqlite3_column_int64", Integer.self)?(statement, column) ?? 0
  }
#endif
