import Heartlog
import HeartlogLibraries
import HeartlogTesting

/// The device that the program is: one store that all apps share, and a clock.
struct Device: Sendable {
  /// The origin of its commits. Another program on the same store has another one.
  static let origin = "heartlog-example"

  let path: String
  /// A clock that moves by a second with each key, and ids that are the same in every run; nil for the system's.
  let manualClock: ManualClock?

  /// - Parameter now: the initial time of a clock that only keys move.
  init(path: String, now: Date? = nil) {
    self.path = path
    manualClock = now.map { ManualClock(start: $0) }
  }

  var clock: @Sendable () -> Milliseconds {
    guard let manualClock else { return { StoreOptions.systemTime() } }
    return { manualClock.milliseconds }
  }

  func open() throws(HeartlogError) -> FavoritesStore {
    var options = StoreOptions()
    options.name = "phone"
    options.origin = Self.origin
    options.clock = clock
    if manualClock != nil {
      let random = SeededRandom(seed: 1)
      options.random = { random.next() }
    }
    return try FavoritesStore(at: path, options: options)
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
