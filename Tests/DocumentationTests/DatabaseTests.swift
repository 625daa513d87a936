import Foundation
import Heartlog
import Synchronization
import Testing

#if canImport(SQLite3)
  import SQLite3
#endif

nonisolated struct Station: Codable, Identifiable, Sendable {
  let id: String
  var name: String?
  var country: String?
}

nonisolated struct OldFavorites: Sequence, IteratorProtocol {
  static let query = """
    SELECT f.stationID, s.name, s.country,
      CAST(round((julianday(f.addedAt) - 2440587.5) * 86400000) AS INTEGER)
    FROM favorite AS f LEFT JOIN station AS s ON s.id = f.stationID
    WHERE f.stationID <> ''
    """
  let statement: OpaquePointer?

  mutating func next() -> (item: Station, since: Date?)? {
    guard sqlite3_step(statement) == SQLITE_ROW else { return nil }
    let isDated = sqlite3_column_type(statement, 3) != SQLITE_NULL
    let milliseconds = Double(sqlite3_column_int64(statement, 3))
    return (
      Station(id: text(0) ?? "", name: text(1), country: text(2)),
      isDated ? Date(timeIntervalSince1970: milliseconds / 1_000) : nil
    )
  }

  private func text(_ column: Int32) -> String? {
    sqlite3_column_text(statement, column).map { String(cString: $0) }
  }
}

/// Takes over the old favorites.
///
/// - Parameter database: the connection that the app has; only read.
/// - Returns: how many were new.
func takeOver(_ database: OpaquePointer?, into stations: Favorites<Station>) throws -> Int {
  var statement: OpaquePointer?
  defer { sqlite3_finalize(statement) }
  guard sqlite3_prepare_v2(database, OldFavorites.query, -1, &statement, nil) == SQLITE_OK else {
    throw OldDatabaseError(message: String(cString: sqlite3_errmsg(database)))
  }
  let added = try stations.takeOver(OldFavorites(statement: statement), origin: "import:sqlite") { rows in
    print("\(rows) favorites")
  }
  // The rows end at an error, too.
  guard sqlite3_reset(statement) == SQLITE_OK else {
    throw OldDatabaseError(message: String(cString: sqlite3_errmsg(database)))
  }
  return added
}

struct OldDatabaseError: Error {
  let message: String
}

nonisolated struct OldFavorite: Decodable, FetchableRecord {
  let stationID: String
  let name: String?
  let country: String?
  let addedAt: Date?
}

func oldFavorites(in database: any DatabaseReader) async throws -> [OldFavorite] {
  try await database.read { db in
    try OldFavorite.fetchAll(
      db,
      sql: """
        SELECT f.stationID, s.name, s.country, f.addedAt
        FROM favorite AS f LEFT JOIN station AS s ON s.id = f.stationID
        WHERE f.stationID <> ''
        """)
  }
}

/// - Returns: how many were new.
func takeOver(_ old: [OldFavorite], into stations: Favorites<Station>) async throws -> Int {
  let favorites = old.map { row in
    (item: Station(id: row.stationID, name: row.name, country: row.country), since: row.addedAt)
  }
  return try await stations.async.takeOver(favorites, origin: "import:grdb") { rows in
    print("\(rows) of \(favorites.count) favorites")
  }
}

/// The rows of the favorites, newest favorite first.
func inOrder(_ rows: [Station], of stations: Favorites<Station>) -> [Station] {
  let rows = Dictionary(rows.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
  return stations.list().compactMap { rows[$0.id] }
}

func favoritesFirst(_ rows: [Station], of stations: Favorites<Station>) -> [Station] {
  let favorites = Set(stations.ids)
  return rows.filter { favorites.contains($0.id) } + rows.filter { !favorites.contains($0.id) }
}

/// Keeps a table of ids equal to the favorites, until its task is cancelled or the store is closed.
///
/// - Parameters:
///   - replace: replaces all ids.
///   - set: inserts or deletes an id.
func copyIDs(
  of stations: Favorites<Station>,
  replace: @Sendable ([String]) async throws -> Void,
  set: @Sendable (_ id: String, _ isFavorite: Bool) async throws -> Void
) async throws {
  // Begins before the ids are read, so that no change is missed.
  let changes = stations.changes
  try await replace(stations.ids)
  for await notice in changes {
    switch notice {
    case .change(let change): try await set(change.event.item, stations.contains(change.event.item))
    case .missed: try await replace(stations.ids)
    }
  }
}

/// The examples of "From SQLite or GRDB".
@Suite("Moving in from a database")
struct DatabaseTests {
  /// A database in memory with three favorites; one was dropped by the service, one has no date.
  private func database() throws -> OpaquePointer {
    var database: OpaquePointer?
    #expect(sqlite3_open(":memory:", &database) == SQLITE_OK)
    let statements = """
      CREATE TABLE station (id TEXT PRIMARY KEY, name TEXT NOT NULL, country TEXT);
      CREATE TABLE favorite (stationID TEXT PRIMARY KEY, addedAt TEXT DEFAULT CURRENT_TIMESTAMP);
      INSERT INTO station VALUES ('jazz', 'Jazz FM', 'GB'), ('news', 'News', NULL), ('rock', 'Rock', 'PL');
      INSERT INTO favorite VALUES ('jazz', '2026-01-02 03:04:05.678'), ('gone', '2026-01-01 00:00:00.000');
      INSERT INTO favorite VALUES ('news', NULL), ('', '2026-01-01 00:00:00.000');
      """
    #expect(sqlite3_exec(database, statements, nil, nil, nil) == SQLITE_OK)
    return try #require(database)
  }

  private func check(_ stations: Favorites<Station>) {
    #expect(stations.list().map(\.id) == ["news", "jazz", "gone"])
    #expect(stations.list().map(\.name) == ["News", "Jazz FM", nil])
    #expect(stations.list().map(\.country) == [nil, "GB", nil])
    // 2026-01-02T03:04:05.678Z
    #expect(stations.favoritedDate(of: "jazz") == Date(timeIntervalSince1970: 1_767_323_045.678))
  }

  @Test("rows of SQLite are taken over once, with their dates", .enabled(if: hasSQLite))
  func sqlite() throws {
    let database = try database()
    defer { sqlite3_close(database) }
    let stations = try FavoritesStore.inMemory().favorites(of: Station.self, in: "stations")
    #expect(try takeOver(database, into: stations) == 3)
    check(stations)
    try stations.remove("jazz")
    #expect(try takeOver(database, into: stations) == 0)
    #expect(!stations.contains("jazz"))
  }

  @Test("an error of SQLite is thrown, at the beginning or between rows", .enabled(if: hasSQLite))
  func failure() throws {
    let database = try database()
    defer { sqlite3_close(database) }
    let stations = try FavoritesStore.inMemory().favorites(of: Station.self, in: "stations")
    // A view of the same name whose last row cannot be computed.
    let broken = """
      ALTER TABLE favorite RENAME TO kept;
      CREATE VIEW favorite AS SELECT stationID, addedAt FROM kept WHERE stationID = 'jazz'
        UNION ALL SELECT 'bad', abs(-9223372036854775808);
      """
    #expect(sqlite3_exec(database, broken, nil, nil, nil) == SQLITE_OK)
    #expect(throws: OldDatabaseError.self) { try takeOver(database, into: stations) }
    #expect(stations.list().map(\.id) == ["jazz"])
    #expect(sqlite3_exec(database, "DROP VIEW favorite", nil, nil, nil) == SQLITE_OK)
    #expect(throws: OldDatabaseError.self) { try takeOver(database, into: stations) }
  }

  @Test("records of GRDB are taken over once, with their dates", .enabled(if: hasSQLite))
  func grdb() async throws {
    let database = DatabaseQueue(connection: try database())
    defer { sqlite3_close(database.connection) }
    let stations = try FavoritesStore.inMemory().favorites(of: Station.self, in: "stations")
    #expect(try await takeOver(oldFavorites(in: database), into: stations) == 3)
    check(stations)
    try stations.remove("jazz")
    #expect(try await takeOver(oldFavorites(in: database), into: stations) == 0)
    #expect(!stations.contains("jazz"))
  }

  @Test("rows of the catalog are shown in the order of the favorites, or with these first")
  func order() throws {
    let stations = try FavoritesStore.inMemory().favorites(of: Station.self, in: "stations")
    for (day, id) in ["rock", "gone", "jazz"].enumerated() {
      try stations.add(Station(id: id), since: Date(timeIntervalSince1970: Double(day) * 86_400))
    }
    let rows = ["jazz", "news", "pop", "rock"].map { Station(id: $0) }
    #expect(inOrder(rows, of: stations).map(\.id) == ["jazz", "rock"])
    #expect(favoritesFirst(rows, of: stations).map(\.id) == ["jazz", "rock", "news", "pop"])
  }

  private final class Copy: Sendable {
    let ids = Mutex<Set<String>>([])
  }

  @Test("a copy of the ids follows the favorites")
  func copy() async throws {
    let store = try FavoritesStore.inMemory()
    let stations = try store.favorites(of: Station.self, in: "stations")
    try stations.add(Station(id: "jazz"))
    let copy = Copy()
    try await withThrowingTaskGroup { group in
      group.addTask {
        try await copyIDs(
          of: stations,
          replace: { ids in copy.ids.withLock { $0 = Set(ids) } },
          set: { id, isFavorite in
            copy.ids.withLock { if isFavorite { $0.insert(id) } else { $0.remove(id) } }
          })
      }
      while copy.ids.withLock(\.isEmpty) { await Task.yield() }
      try stations.add(Station(id: "rock"))
      try stations.remove("jazz")
      try stations.setNote("loud", of: "news")
      try store.close()
      try await group.waitForAll()
    }
    #expect(copy.ids.withLock { $0 } == ["rock"])
  }
}
