import Foundation

/// How a paper is kept in a row, beside its id and its favorited date.
protocol PaperRow {
  init()
  /// The names of the columns with their types.
  static var columns: [(name: String, type: String)] { get }
  /// Those in which a search looks, the id included.
  static var searched: [String] { get }
  /// Binds the columns to the parameters that begin there.
  func bind(_ paper: Paper, to statement: SQLiteStatement, at parameter: Int32) throws
  /// Reads a row of the id and the columns.
  func paper(in row: SQLiteStatement) throws -> Paper
}

/// A paper as JSON in one column.
struct JSONRow: PaperRow {
  private let encoder = JSONEncoder()
  private let decoder = JSONDecoder()

  static let columns = [(name: "json", type: "TEXT")]
  static let searched = ["id", "json"]

  func bind(_ paper: Paper, to statement: SQLiteStatement, at parameter: Int32) throws {
    try encoder.encode(paper).withUnsafeBytes { statement.bind($0, at: parameter) }
  }

  func paper(in row: SQLiteStatement) throws -> Paper {
    let bytes = row.bytes(1)
    guard let start = UnsafeMutableRawPointer(mutating: bytes.baseAddress) else {
      throw Failure("a row without JSON")
    }
    return try decoder.decode(
      Paper.self, from: Data(bytesNoCopy: start, count: bytes.count, deallocator: .none))
  }
}

/// A paper in a column for each property.
struct ColumnsRow: PaperRow {
  static let columns = [
    (name: "title", type: "TEXT"), (name: "authors", type: "TEXT"), (name: "categories", type: "TEXT"),
    (name: "date", type: "REAL"),
  ]
  static let searched = ["id", "title", "authors", "categories"]

  func bind(_ paper: Paper, to statement: SQLiteStatement, at parameter: Int32) throws {
    let names = Self.columns.map(\.name)
    try paper.encode(to: ColumnsEncoder(statement: statement, names: names, parameter: parameter))
  }

  func paper(in row: SQLiteStatement) throws -> Paper { try Paper(from: ColumnsDecoder(row: row)) }
}

/// Papers in SQLite: the event and the row are written in one transaction, and favorites are indexed by their dates.
final class SQLitePapers<Row: PaperRow>: PaperPeer {
  private let row = Row()
  private let begin, commit, event, state, mark, put, contains, item, list, search: SQLiteStatement

  init(_ path: String, _ waiting: Waiting) throws {
    let connection = try SQLiteConnection(path, waiting)
    let names = Row.columns.map(\.name)
    try connection.execute(
      """
      CREATE TABLE IF NOT EXISTS events(number INTEGER PRIMARY KEY, time INTEGER NOT NULL,
        kind INTEGER NOT NULL, id TEXT NOT NULL);
      CREATE TABLE IF NOT EXISTS items(id TEXT PRIMARY KEY, favoritedDate INTEGER,
        \(Row.columns.map { "\($0.name) \($0.type)" }.joined(separator: ", "))) WITHOUT ROWID;
      CREATE INDEX IF NOT EXISTS dates ON items(favoritedDate) WHERE favoritedDate IS NOT NULL
      """)
    func prepared(_ text: String) throws -> SQLiteStatement { try SQLiteStatement(connection, text) }
    let read = (["id"] + names).joined(separator: ", ")
    let isFound = Row.searched.map { "\($0) LIKE ?1" }.joined(separator: " OR ")
    begin = try prepared("BEGIN IMMEDIATE")
    commit = try prepared("COMMIT")
    event = try prepared("INSERT INTO events(time, kind, id) VALUES(?1, ?2, ?3)")
    state = try prepared("SELECT favoritedDate FROM items WHERE id = ?1")
    mark = try prepared("UPDATE items SET favoritedDate = NULL WHERE id = ?1")
    put = try prepared(
      """
      INSERT INTO items(id, favoritedDate, \(names.joined(separator: ", ")))
        VALUES(?1, ?2, \(names.indices.map { "?\($0 + 3)" }.joined(separator: ", ")))
        ON CONFLICT(id) DO UPDATE SET favoritedDate = excluded.favoritedDate,
        \(names.map { "\($0) = excluded.\($0)" }.joined(separator: ", "))
      """)
    contains = try prepared("SELECT 1 FROM items WHERE id = ?1 AND favoritedDate IS NOT NULL")
    item = try prepared("SELECT \(read) FROM items WHERE id = ?1")
    list = try prepared(
      "SELECT \(read) FROM items WHERE favoritedDate IS NOT NULL ORDER BY favoritedDate DESC LIMIT ?1")
    search = try prepared(
      "SELECT \(read) FROM items WHERE favoritedDate IS NOT NULL AND (\(isFound)) ORDER BY favoritedDate DESC"
    )
  }

  func add(_ papers: ArraySlice<PaperOnTrace>) throws {
    try begin.run()
    for paper in papers { try favorite(paper.paper, since: paper.favoritedDate) }
    try commit.run()
  }

  func toggle(_ paper: PaperOnTrace) throws -> Bool {
    let paper = paper.paper
    try begin.run()
    state.bind(paper.id, at: 1)
    let wasFavorite = try state.step() && !state.isNull(0)
    state.reset()
    let now = Int64(Date.now.timeIntervalSince1970 * 1_000)
    if wasFavorite {
      mark.bind(paper.id, at: 1)
      try mark.run()
      try log("-", paper.id, now)
    } else {
      try favorite(paper, since: now)
    }
    try commit.run()
    return !wasFavorite
  }

  private func favorite(_ paper: Paper, since time: Int64) throws {
    put.bind(paper.id, at: 1)
    put.bind(time, at: 2)
    try row.bind(paper, to: put, at: 3)
    try put.run()
    try log("+", paper.id, time)
  }

  private func log(_ kind: Unicode.Scalar, _ id: String, _ time: Int64) throws {
    event.bind(time, at: 1)
    event.bind(Int64(kind.value), at: 2)
    event.bind(id, at: 3)
    try event.run()
  }

  func contains(_ id: String) throws -> Bool {
    contains.bind(id, at: 1)
    defer { contains.reset() }
    return try contains.step()
  }

  func item(_ id: String) throws -> Int {
    item.bind(id, at: 1)
    defer { item.reset() }
    return try item.step() ? try row.paper(in: item).textBytes : 0
  }

  func list(limit: Int) throws -> Int {
    list.bind(Int64(limit), at: 1)
    return try papers(list).count { $0.textBytes > 0 }
  }

  func search(_ text: String) throws -> Int {
    search.bind("%\(text)%", at: 1)
    return try papers(search).count { $0.textBytes > 0 }
  }

  private func papers(_ statement: SQLiteStatement) throws -> [Paper] {
    defer { statement.reset() }
    var papers: [Paper] = []
    while try statement.step() { papers.append(try row.paper(in: statement)) }
    return papers
  }
}
