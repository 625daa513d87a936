import Foundation
import Heartlog
import Synchronization

/// A clock that a test moves by hand.
public final class HandClock: Sendable {
  private let milliseconds: Mutex<Milliseconds>

  public init(_ milliseconds: Milliseconds = 1_772_438_400_000) { self.milliseconds = Mutex(milliseconds) }

  public var now: Date {
    Date(timeIntervalSince1970: Double(milliseconds.withLock { $0 }) / 1_000)
  }

  public func advance(seconds: Int = 1) { milliseconds.withLock { $0 += Milliseconds(seconds) * 1_000 } }

  /// For a store that tells its time by this clock.
  public var options: StoreOptions {
    var options = StoreOptions()
    options.clock = { [self] in milliseconds.withLock { $0 } }
    return options
  }
}

/// Runs a test with the place of a store on disk, and removes it then.
public func withStoreFolder<R>(_ body: (URL) async throws -> R) async throws -> R {
  let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
  defer { try? FileManager.default.removeItem(at: folder) }
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  return try await body(folder.appending(path: "favorites.heartlog"))
}

extension FavoritesStore {
  /// How many events a library has had.
  public func eventCount(of library: String) -> UInt64 { read { $0.counts(of: library).events } }
}
