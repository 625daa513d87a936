import Heartlog
import HeartlogTesting

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A phone: one store that all apps share, and a clock that the stories move.
@MainActor
final class Device {
  let path: String
  let clock: ManualClock
  private var running: FavoritesStore?

  /// - Parameters:
  ///   - path: the path of the store.
  ///   - start: the initial time of the clock.
  init(path: String, start: Date) {
    self.path = path
    clock = ManualClock(start: start)
  }

  /// Creates a device with an existing store, or one at a chosen path. Its stories start an hour ago, so that
  /// they do not end in the future.
  convenience init(existing path: String) {
    self.init(path: path, start: Date.now.addingTimeInterval(-3_600))
  }

  /// Creates a device with a new store in the temporary folder, on the morning of 2 March 2026.
  static func new() -> Device {
    let name = "heartlog-example-\(UUID().uuidString.prefix(8).lowercased())"
    return Device(
      path: FileManager.default.temporaryDirectory.appending(path: name).path,
      start: Date(timeIntervalSince1970: 1_772_438_400))
  }

  /// Starts an app. The store of the previous app is closed and reopened, so the app finds only what is in
  /// the log.
  ///
  /// - Parameter app: the origin of its commits in the log.
  func launch(_ app: String) throws -> FavoritesStore {
    try switchOff()
    var options = StoreOptions()
    options.name = "example phone"
    options.origin = app
    options.clock = { [clock] in clock.milliseconds }
    let store = try FavoritesStore(at: path, options: options)
    running = store
    return store
  }

  func switchOff() throws {
    try running?.close()
    running = nil
  }
}
