import Heartlog
import Synchronization

/// Tells readers that favorites have changed. Each reader gets one notice at once, and then one for any number of
/// changes since it took the last: it reads what it shows again.
public typealias FavoriteCityChanges = AsyncStream<Void>

/// The readers of a repository in memory.
final class CityChangeReaders: Sendable {
  private let state = Mutex<(last: Int, continuations: [Int: FavoriteCityChanges.Continuation])>((0, [:]))

  func stream() -> FavoriteCityChanges {
    let (stream, continuation) = FavoriteCityChanges.makeStream(bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.last += 1
      state.continuations[state.last] = continuation
      return state.last
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { state in _ = state.continuations.removeValue(forKey: number) }
    }
    continuation.yield()
    return stream
  }

  func tell() {
    for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.yield() }
  }

  deinit { for continuation in state.withLock({ Array($0.continuations.values) }) { continuation.finish() } }
}

extension DefaultFavoriteCityRepository {
  /// Notices of the changes by this app, other processes and other devices. They end with the store.
  public var changes: FavoriteCityChanges {
    let (stream, continuation) = FavoriteCityChanges.makeStream(bufferingPolicy: .bufferingNewest(1))
    // The subscription starts here, before the first notice: what the reader reads then is not older.
    let changes = favorites.changes
    let reading = Task {
      continuation.yield()
      for await _ in changes { continuation.yield() }
      continuation.finish()
    }
    continuation.onTermination = { _ in reading.cancel() }
    return stream
  }
}
