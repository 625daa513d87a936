import Foundation

#if canImport(SQLite3)
  import SQLite3
#endif

// What the examples of "From SQLite or GRDB" use of GRDB, with the same signatures. The package does not depend on GRDB.

nonisolated struct Database {
  let connection: OpaquePointer
}

nonisolated protocol DatabaseReader: Sendable {
  func read<T: Sendable>(_ value: @escaping @Sendable (Database) throws -> T) async throws -> T
}

/// A connection, which the test closes.
nonisolated struct DatabaseQueue: DatabaseReader, @unchecked Sendable {
  let connection: OpaquePointer

  func read<T: Sendable>(_ value: @escaping @Sendable (Database) throws -> T) async throws -> T {
    try value(Database(connection: connection))
  }
}

nonisolated protocol FetchableRecord {}

nonisolated extension FetchableRecord where Self: Decodable {
  static func fetchAll(_ db: Database, sql: String) throws -> [Self] {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(db.connection, sql, -1, &statement, nil) == SQLITE_OK else {
      throw OldDatabaseError(message: String(cString: sqlite3_errmsg(db.connection)))
    }
    let dates = DateFormatter()
    dates.locale = Locale(identifier: "en_US_POSIX")
    dates.timeZone = .gmt
    dates.dateFormat = "yyyy-MM-dd HH:mm:ss.SSS"
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .formatted(dates)
    var records: [Self] = []
    while sqlite3_step(statement) == SQLITE_ROW {
      var row: [String: String] = [:]
      for column in 0..<sqlite3_column_count(statement) {
        guard let name = sqlite3_column_name(statement, column),
          let text = sqlite3_column_text(statement, column)
        else { continue }
        row[String(cString: name)] = String(cString: text)
      }
      records.append(try decoder.decode(Self.self, from: JSONEncoder().encode(row)))
    }
    return records
  }
}
