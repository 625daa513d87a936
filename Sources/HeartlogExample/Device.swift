import Heartlog
import HeartlogLibraries
import HeartlogSync
import HeartlogTesting

/// The device that the program is: one store that all apps share, a clock, and perhaps a second device beside it.
struct Device: Sendable {
  /// The origin of its commits. Another program on the same store has another one.
  static let origin = "heartlog-example"

  let path: String
  let name: String
  /// The folder of the second device's store.
  let peer: String?
  /// A clock that moves by a second with each key, and ids that are the same in every run; nil for the system's.
  let manualClock: ManualClock?

  /// - Parameter now: the initial time of a clock that only keys move.
  init(path: String, name: String = "phone", peer: String? = nil, now: Date? = nil) {
    (self.path, self.name, self.peer) = (path, name, peer)
    manualClock = now.map { ManualClock(start: $0) }
  }

  var clock: @Sendable () -> Milliseconds {
    guard let manualClock else { return { StoreOptions.systemTime() } }
    return { manualClock.milliseconds }
  }

  func open() throws(HeartlogError) -> FavoritesStore {
    try FavoritesStore(at: path, options: options(name: name))
  }

  private func options(name: String) -> StoreOptions {
    var options = StoreOptions()
    options.name = name
    options.origin = Self.origin
    options.clock = clock
    if manualClock != nil {
      // Each device must have its own ids.
      let random = SeededRandom(seed: name.utf8.reduce(0) { $0 &* 257 &+ UInt64($1) })
      options.random = { random.next() }
    }
    return options
  }

  /// Syncs with the second device, which is created if it is new. Another program may have its store open at the same time.
  @concurrent
  func sync(_ store: FavoritesStore, with path: String) async throws(HeartlogError) -> SyncReport {
    let peer = try FavoritesStore(at: path, options: options(name: "tablet"))
    var options = SyncOptions()
    options.clock = clock
    let report = Result { () throws(HeartlogError) in
      try StoreCarrier(peer).sync(store, options: options)
    }
    try peer.close()
    return try report.get()
  }
}

/// The answers of the apps' services: files in `fixtures`, which were recorded from the real services.
enum Service {
  private static let folder = "fixtures"

  static func bytes(_ path: String) throws -> [UInt8] {
    let file = "\(folder)/\(path)"
    guard let bytes = FileManager.default.contents(atPath: file) else {
      throw HeartlogError(
        .notFound, "an answer of a service cannot be read; run this in the folder of the package", file: file)
    }
    return Array(bytes)
  }

  static func json(_ path: String) throws -> JSONValue { try JSONValue.parse(bytes(path)) }

  /// Items with one JSON object per line: `{"id", "fields": {…}}`.
  static func archives() throws -> [Archive] {
    try bytes("items/archives.jsonl").split(separator: UInt8(ascii: "\n")).map { line in
      let item = try JSONValue.parse(Array(line))
      let members = [JSONMember("id", item["id"] ?? .null)] + (item["fields"]?.object ?? [])
      return try JSONDecoder().decode(Archive.self, from: Data(JSONValue.object(members).jsonText.utf8))
    }
  }
}
