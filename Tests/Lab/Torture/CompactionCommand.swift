import Foundation
import Heartlog

/// One half of what `heartlog compact` does to the store `$HEARTLOG_STORE`, for tests that need sealed segments without a snapshot, or a
/// snapshot of a log whose end is open.
enum CompactionCommand {
  static func run(_ half: String?) {
    guard let path = ProcessInfo.processInfo.environment["HEARTLOG_STORE"] else {
      print("HeartlogTorture: HEARTLOG_STORE names no store")
      exit(64)
    }
    do {
      let store = try FavoritesStore(at: path)
      if half == "seal" { _ = try store.seal() } else { _ = try store.snapshot() }
      try store.close()
    } catch {
      print("HeartlogTorture: \(error)")
      exit(1)
    }
  }
}
