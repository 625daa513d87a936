import FoundationEssentials
import Heartlog

/// What makes the next opening quick.
enum Snapshots {
  /// Returns when all that was written until now is where the next opening finds it quickest.
  static func take(of store: FavoritesStore) throws {
    try store.snapshot()
  }

  /// How many there are.
  static func count(in folder: String) throws -> Int {
    let place = folder + "/favorites.heartlog/snapshots"
    guard FileManager.default.fileExists(atPath: place) else { return 0 }
    return try FileManager.default.contentsOfDirectory(atPath: place).count { $0.hasSuffix(".snapshot") }
  }

  /// What they take on disk.
  static func bytes(in folder: String) throws -> UInt64 {
    try Size.bytes(in: folder + "/favorites.heartlog/snapshots")
  }

  /// Removes what other runs left, so that an opening reads the log from its beginning.
  static func remove(from folder: String) throws {
    let place = folder + "/favorites.heartlog/snapshots"
    if FileManager.default.fileExists(atPath: place) { try FileManager.default.removeItem(atPath: place) }
  }
}
