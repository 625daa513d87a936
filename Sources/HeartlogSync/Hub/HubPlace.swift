import Heartlog
import HeartlogFormat
import HeartlogFiles

/// The objects of a vault at a hub: "Objects" in docs/hub.md.
///
/// What a hub sends is not believed: names are those of objects or are left out, and what is in an object is for others to verify.
struct HubPlace: Place {
  private let connection: HubConnection
  private let changes: HubWatch
  private let isOver: @Sendable () -> Bool
  /// Throws if this device has nothing to write at this place.
  private let checkWriting: @Sendable () throws(HeartlogError) -> Void

  var description: String { connection.address.description }
  var address: String? { connection.address.address(of: connection.vault) }

  /// - Parameters:
  ///   - changes: What tells of new objects, as long as somebody watches.
  ///   - isOver: Called several times a second; once it returns true, the calls end early.
  ///   - checkWriting: Called before anything is put or deleted.
  init(
    _ connection: HubConnection, changes: HubWatch, isOver: @escaping @Sendable () -> Bool = { false },
    checkWriting: @escaping @Sendable () throws(HeartlogError) -> Void = {}
  ) {
    self.connection = connection
    self.changes = changes
    self.isOver = isOver
    self.checkWriting = checkWriting
  }

  func list(after cursor: PlaceCursor?) throws(HeartlogError) -> ObjectList {
    try changes.list(after: cursor) { () throws(HeartlogError) in
      try list(after: cursor, limit: Self.listMax)
    }
  }

  func get(_ name: String, bytesMax: Int) throws(HeartlogError) -> ObjectContent {
    let path = try path(of: name)
    let answer = try connection.send(
      "GET", path, bytesMax: bytesMax, accepting: [404, HTTPAnswer.tooLarge], isOver: isOver)
    return switch answer.status {
    case 404: .deleted
    case HTTPAnswer.tooLarge: .unreadable
    default: .bytes(answer.body)
    }
  }

  func put(_ name: String, _ bytes: [UInt8]) throws(HeartlogError) {
    let path = try path(of: name)
    try checkWriting()
    let answer = try changes.whilePutting(name) { () throws(HeartlogError) in
      try connection.send(
        "PUT", path, type: .object(bytes), bytesMax: HubLimits.jsonBytesMax, accepting: [409], isOver: isOver)
    }
    guard answer.status != 409 else {
      throw HeartlogError(.exists, "\(name) exists already, with other bytes")
    }
  }

  func delete(_ name: String) throws(HeartlogError) {
    let path = try path(of: name)
    try checkWriting()
    // What only the root may delete stays.
    _ = try connection.send(
      "DELETE", path, bytesMax: HubLimits.jsonBytesMax, accepting: [403, 404], isOver: isOver)
  }

  /// Waits until the hub tells of something that was put after a cursor, at most so long.
  ///
  /// - Returns: Whether there may be something.
  func watch(after cursor: PlaceCursor, milliseconds: Int) throws(HeartlogError) -> Bool {
    guard milliseconds > 0 else {
      let list = try list(after: cursor, limit: 1)
      return list.startsOver || !list.entries.isEmpty
    }
    _ = try Self.text(of: cursor)
    return try changes.wait(after: cursor, milliseconds: milliseconds, isOver: isOver)
  }

  func admit(_ members: [PublicKey]) throws(HeartlogError) {
    try checkWriting()
    let there = try connection.keys(isOver: isOver)
    let missing = members.filter { !there.contains($0) }
    if !missing.isEmpty { try connection.changeKeys(admitting: missing, isOver: isOver) }
  }

  // MARK: - Parts

  /// The most names of a list, so that an answer with the longest names is no longer than a JSON body may be.
  private static let listMax = 400
  /// The most bytes of a list.
  private static let listBytesMax = 4 * HubLimits.jsonBytesMax

  private func list(after cursor: PlaceCursor?, limit: Int) throws(HeartlogError) -> ObjectList {
    var query = "objects?limit=\(limit)"
    if let cursor { query += "&after=\(try Self.text(of: cursor))" }
    let json = try connection.send("GET", connection.path(query), bytesMax: Self.listBytesMax, isOver: isOver)
      .json(at: connection)
    // A list that goes on is full, so that no hub can go on for long.
    guard let list = Self.list(json),
      !list.hasMore || list.entries.count + list.foreignCount == limit && list.cursor != cursor
    else { throw .noHub("something that is no list", at: connection) }
    return cursor == nil
      ? ObjectList(
        list.entries, cursor: list.cursor, startsOver: true, hasMore: list.hasMore,
        foreignCount: list.foreignCount) : list
  }

  /// Reads a list; `nil` if it is none.
  static func list(_ json: JSONValue) -> ObjectList? {
    guard let entries = json["objects"]?.array, let next = json["cursor"]?.string, isCursor(next),
      let startsOver = json["startsOver"]?.bool, let hasMore = json["hasMore"]?.bool,
      entries.count <= HubLimits.listMax
    else { return nil }
    var objects: [ObjectList.Entry] = []
    var foreignCount = 0
    for entry in entries {
      guard let parts = entry.array, parts.count >= 2, let name = parts[0].string,
        let size = parts[1].int64.flatMap({ UInt64(exactly: $0) })
      else { return nil }
      if ObjectPath.isObject(name) {
        objects.append(ObjectList.Entry(name, byteCount: size))
      } else {
        foreignCount += 1
      }
    }
    return ObjectList(
      objects, cursor: PlaceCursor(next), startsOver: startsOver, hasMore: hasMore,
      foreignCount: foreignCount)
  }

  /// - Throws: `invalid` for a name that would be another path.
  private func path(of name: String) throws(HeartlogError) -> String {
    guard ObjectPath.isObject(name) else { throw HeartlogError(.invalid, "\(name) is no name of an object") }
    return connection.path("objects/\(name)")
  }

  static func text(of cursor: PlaceCursor) throws(HeartlogError) -> String {
    guard isCursor(cursor.text) else { throw HeartlogError(.invalid, "not a cursor of a hub") }
    return cursor.text
  }

  private static func isCursor(_ text: String) -> Bool {
    (1...128).contains(text.utf8.count)
      && text.unicodeScalars.allSatisfy {
        ("0"..."9").contains($0) || ("a"..."z").contains($0) || $0 == "-" || $0 == "."
      }
  }
}
