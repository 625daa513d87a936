import Foundation
import Heartlog
@_exported import HeartlogTesting

extension ManualClock {
  /// For a store that tells its time by this clock.
  public var options: StoreOptions {
    var options = StoreOptions()
    options.clock = { [self] in milliseconds }
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

  /// Keeps every other writer waiting until the result is signaled.
  public func holdWrites() async -> DispatchSemaphore {
    let gate = DispatchSemaphore(value: 0)
    let (held, continuation) = AsyncStream<Void>.makeStream()
    Thread.detachNewThread {
      do {
        try self.write {
          continuation.yield()
          gate.wait()
        }
      } catch { preconditionFailure("\(error)") }
    }
    for await _ in held { break }
    return gate
  }
}
