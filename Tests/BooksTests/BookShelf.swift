import Foundation
import HeartlogLibraries
import Synchronization
import Testing

@testable import Heartlog

/// A clock that tests set: milliseconds since 1970.
final class BookClock: Sendable {
  static let start: Milliseconds = 1_772_438_400_000
  private let time = Mutex<Milliseconds>(start)

  var now: Milliseconds {
    get { time.withLock { $0 } }
    set { time.withLock { $0 = newValue } }
  }

  func advance(seconds: Double) { now += Milliseconds(seconds * 1_000) }
}

/// An audiobook app as it starts: a store, and what stands in the place of its persistence manager.
struct BookShelf {
  let clock = BookClock()
  let store: FavoritesStore
  let library: BookLibrary

  init() throws {
    var options = StoreOptions()
    let clock = clock
    options.clock = { clock.now }
    store = try .inMemory(options: options)
    library = try BookLibrary(store)
  }

  /// Another caller of the same store, as another window or another launch is one.
  func another() throws -> BookLibrary { try BookLibrary(store) }

  /// What another device wrote, at a stamp that is `later` milliseconds after everything that is here.
  func receive(_ event: Event, number: UInt64 = 1, later: Milliseconds = 1) {
    let stamp = max(store.read(\.lastStamp), HybridTimestamp(milliseconds: clock.now))
    store.projection.receive(
      Commit(
        replica: ReplicaID(high: 7, low: 7), number: CommitNumber(rawValue: number),
        firstSequence: SequenceNumber(rawValue: number),
        stamp: HybridTimestamp(milliseconds: stamp.milliseconds + later), wallTime: clock.now,
        records: [.event(event)]))
  }

  var commitCount: UInt64 { store.read(\.commitCount) }

  /// The log's writes of a book's position: when, and where to.
  func positionEvents(of id: Book.ID) throws -> [(time: Milliseconds, seconds: FieldValue, isQuiet: Bool)] {
    try store.positionEvents()[id.favoriteID] ?? []
  }
}

extension FavoritesStore {
  /// The log's writes of positions, by book.
  func positionEvents() throws -> [String: [(time: Milliseconds, seconds: FieldValue, isQuiet: Bool)]] {
    let log = try readLog()
    var events: [String: [(time: Milliseconds, seconds: FieldValue, isQuiet: Bool)]] = [:]
    while let commit = try log.next() {
      for event in commit.records.compactMap(\.event) where event.library == "books" {
        for field in event.fields where field.name == "currentPosition" {
          events[event.item, default: []].append((commit.wallTime, field.value, field.isQuiet))
        }
      }
    }
    return events
  }
}

/// A book of an hour.
func book(
  _ number: UInt8, _ title: String? = nil, at time: Double = Double(BookClock.start) / 1_000,
  position: Double = 0,
  files: [String] = []
) -> Book {
  Book(
    id: UUID(uuid: (number, 1, 2, 3, 4, 5, 0x80, 7, 0x80, 9, 10, 11, 12, 13, 14, 15)),
    title: title ?? "Book \(number)", fileURL: URL(filePath: "/Books/\(number).m4b"), duration: 3_600,
    currentPosition: position, dateAdded: Date(timeIntervalSince1970: time),
    associatedFiles: files.map { URL(filePath: $0) })
}

/// A folder that goes away with the test.
final class TestFolder {
  let url = FileManager.default.temporaryDirectory.appending(path: "heartlog-books-\(UUID().uuidString)")
  init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(at: url) }
}
