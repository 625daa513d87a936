import Heartlog
import HeartlogTesting

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A phone: one store that all of its apps share, and a clock that the stories move.
@MainActor
final class Device {
  let path: String
  let clock: ManualClock
  private var running: FavoritesStore?

  /// - Parameter start: what the clock shows at first.
  init(path: String, start: Date) {
    self.path = path
    clock = ManualClock(start: start)
  }

  /// With a store that is there, or is to be there: its stories begin an hour ago, so that they end in no future.
  convenience init(existing path: String) {
    self.init(path: path, start: Date.now.addingTimeInterval(-3_600))
  }

  /// With a new store in the temporary folder, on the morning of 2 March 2026.
  static func new() -> Device {
    let name = "heartlog-example-\(UUID().uuidString.prefix(8).lowercased())"
    return Device(
      path: FileManager.default.temporaryDirectory.appending(path: name).path,
      start: Date(timeIntervalSince1970: 1_772_438_400))
  }

  /// Starts an app. What it finds is what the log says: the store of the app before it is closed, and opened anew.
  ///
  /// - Parameter app: what the log gives as the origin of its commits.
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
