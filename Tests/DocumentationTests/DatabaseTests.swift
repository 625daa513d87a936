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

/// - Returns: how many were new.
func migrate(
  from old: [(item: Station, since: Date?)], into stations: Favorites<Station>
) async throws -> Int {
  try await stations.library.store.run { _ in
    try stations.migrate(from: old, origin: "import:database")
  }
}

func oldFavorites(in database: OpaquePointer?) throws -> [(item: Station, since: Date?)] {
  let query = """
    SELECT f.stationID, s.name, s.country, round((julianday(f.addedAt) - 2440587.5) * 86400000)
    FROM favorite AS f LEFT JOIN station AS s ON s.id = f.stationID WHERE f.stationID <> ''
    """
  var statement: OpaquePointer?
  defer { sqlite3_finalize(statement) }
  let text = { (column: Int32) in sqlite3_column_text(statement, column).map { String(cString: $0) } }
  var favorites: [(item: Station, since: Date?)] = []
  var result = sqlite3_prepare_v2(database, query, -1, &statement, nil)
  if result == SQLITE_OK { result = sqlite3_step(statement) }
  while result == SQLITE_ROW {
    let isDated = sqlite3_column_type(statement, 3) != SQLITE_NULL
    let date = Date(timeIntervalSince1970: Double(sqlite3_column_int64(statement, 3)) / 1_000)
    let station = Station(id: text(0) ?? "", name: text(1), country: text(2))
    favorites.append((station, isDated ? date : nil))
    result = sqlite3_step(statement)
  }
  // The rows end at an error, too.
  guard result == SQLITE_DONE else {
    throw HeartlogError(.inputOutput, String(cString: sqlite3_errmsg(database)))
  }
  return favorites
}

struct Row {
  let stationID: String
  var isFavorite: Bool
}

func withHearts(_ rows: [Row], from stations: Favorites<Station>) -> [Row] {
  stations.merge(into: rows, id: \.stationID) { row, isFavorite, _ in row.isFavorite = isFavorite }.catalog
}

/// Keeps a table of ids equal to the favorites, as the article says.
func copyIDs(
  of stations: Favorites<Station>,
  replaceAll: @Sendable ([String]) -> Void,
  set: @Sendable (_ id: String, _ isFavorite: Bool) -> Void
) async {
  let changes = stations.changes
  replaceAll(stations.ids)
  for await notice in changes {
    switch notice {
    case .change(let change): set(change.event.item, stations.contains(change.event.item))
    case .missed: replaceAll(stations.ids)
    }
  }
}

/// The examples of "Moving in" that read a database.
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

  @Test("rows of SQLite are taken over once, with their dates", .enabled(if: hasSQLite))
  func sqlite() async throws {
    let database = try database()
    defer { sqlite3_close(database) }
    let stations = try FavoritesStore.inMemory().favorites(of: Station.self, in: "stations")
    #expect(try await migrate(from: oldFavorites(in: database), into: stations) == 3)
    #expect(stations.list().map(\.id) == ["news", "jazz", "gone"])
    #expect(stations.list().map(\.name) == ["News", "Jazz FM", nil])
    #expect(stations.list().map(\.country) == [nil, "GB", nil])
    // 2026-01-02T03:04:05.678Z
    #expect(stations.favoritedDate(of: "jazz") == Date(timeIntervalSince1970: 1_767_323_045.678))
    try await stations.remove("jazz")
    #expect(try await migrate(from: oldFavorites(in: database), into: stations) == 0)
    #expect(!stations.contains("jazz"))
  }

  @Test(
    "dates that count seconds are read as the article says", .enabled(if: hasSQLite),
    arguments: [
      ("2026-01-02 03:04:05.678", "round((julianday(addedAt) - 2440587.5) * 86400000)"),
      ("1767323045.678", "round(addedAt * 1000)"),
      ("789015845.678", "round((addedAt + 978307200) * 1000)"),
    ])
  func dates(stored: String, column: String) throws {
    let database = try database()
    defer { sqlite3_close(database) }
    var statement: OpaquePointer?
    let query = "SELECT \(column) FROM (SELECT '\(stored)' AS addedAt)"
    #expect(sqlite3_prepare_v2(database, query, -1, &statement, nil) == SQLITE_OK)
    defer { sqlite3_finalize(statement) }
    #expect(sqlite3_step(statement) == SQLITE_ROW)
    #expect(sqlite3_column_int64(statement, 0) == 1_767_323_045_678)
  }

  @Test("an error of SQLite is thrown, at the beginning or between rows", .enabled(if: hasSQLite))
  func failure() throws {
    let database = try database()
    defer { sqlite3_close(database) }
    // A view of the same name whose last row cannot be computed.
    let broken = """
      ALTER TABLE favorite RENAME TO kept;
      CREATE VIEW favorite AS SELECT stationID, addedAt FROM kept WHERE stationID = 'jazz'
        UNION ALL SELECT 'bad', abs(-9223372036854775808);
      """
    #expect(sqlite3_exec(database, broken, nil, nil, nil) == SQLITE_OK)
    #expect(throws: HeartlogError.self) { try oldFavorites(in: database) }
    #expect(sqlite3_exec(database, "DROP VIEW favorite", nil, nil, nil) == SQLITE_OK)
    #expect(throws: HeartlogError.self) { try oldFavorites(in: database) }
  }

  @Test("a flag is replaced, not or-ed")
  func hearts() throws {
    let stations = try FavoritesStore.inMemory().favorites(of: Station.self, in: "stations")
    try stations.add("jazz")
    let rows = [Row(stationID: "jazz", isFavorite: false), Row(stationID: "rock", isFavorite: true)]
    #expect(withHearts(rows, from: stations).map(\.isFavorite) == [true, false])
  }

  private final class Copy: Sendable {
    let ids = Mutex<Set<String>>([])
  }

  @Test("a copy of the ids follows the favorites")
  func copy() async throws {
    let store = try FavoritesStore.inMemory()
    let stations = try store.favorites(of: Station.self, in: "stations")
    try await stations.add(Station(id: "jazz"))
    let copy = Copy()
    try await withThrowingTaskGroup { group in
      group.addTask {
        await copyIDs(
          of: stations,
          replaceAll: { ids in copy.ids.withLock { $0 = Set(ids) } },
          set: { id, isFavorite in
            copy.ids.withLock { if isFavorite { $0.insert(id) } else { $0.remove(id) } }
          })
      }
      while copy.ids.withLock(\.isEmpty) { await Task.yield() }
      try await stations.add(Station(id: "rock"))
      try await stations.remove("jazz")
      try await stations.setNote("loud", of: "news")
      try store.close()
      try await group.waitForAll()
    }
    #expect(copy.ids.withLock { $0 } == ["rock"])
  }
}
