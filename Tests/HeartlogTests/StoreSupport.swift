import Foundation
import HeartlogFiles
import HeartlogTesting
import Synchronization

@testable import Heartlog

/// A clock that tests set.
final class TestClock: Sendable {
  private let time: Mutex<Milliseconds>

  init(_ time: Milliseconds = 1_772_438_400_000) { self.time = Mutex(time) }

  var now: Milliseconds {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }
}

/// A store in memory whose disk and clock a test holds.
struct TestStore {
  var files = MemoryFileSystem()
  var clock = TestClock()
  static let path = "/favorites.heartlog"

  func open(_ change: (inout StoreOptions) -> Void = { _ in }) throws -> FavoritesStore {
    var options = StoreOptions()
    options.name = "test"
    let clock = clock
    options.clock = { clock.now }
    change(&options)
    return try FavoritesStore(at: Self.path, on: files, options: options)
  }
}

/// An item as an app might have it.
struct Record: Codable, Identifiable, Sendable, Equatable {
  var id: Int
  var title: String
  var year: Int?
  var tags: [String] = []
}

extension FavoritesStore {
  var records: Favorites<Record> {
    get throws { try favorites(of: Record.self, in: "records") }
  }

  /// All commits of the log in the total order.
  func allCommits() throws -> [Commit] {
    let log = try readLog()
    var commits: [Commit] = []
    while let commit = try log.next() { commits.append(commit) }
    return commits
  }
}
