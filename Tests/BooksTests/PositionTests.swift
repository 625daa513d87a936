import Foundation
import HeartlogLibraries
import Testing

@testable import Heartlog

@Suite("books: positions")
struct PositionTests {
  private let app: BookShelf
  private var library: BookLibrary { app.library }

  init() throws {
    app = try BookShelf()
    try app.library.saveBooks([book(1), book(2)])
  }

  @Test("a missing position is 0")
  func missing() throws {
    #expect(library.loadPosition(for: book(1).id) == 0 && library.loadPosition(for: UUID()) == 0)
    #expect(try library.savePosition(for: book(1).id, position: 0))
    #expect(try !library.savePosition(for: UUID(), position: 0))
  }

  @Test("positions are clamped to 0…duration; NaN and infinity throw invalidItem")
  func clamped() throws {
    let id = book(1).id
    for (given, taken) in [
      (10.0, 10.0), (-5, 0), (4_000, 3_600), (3_600, 3_600), (.greatestFiniteMagnitude, 3_600),
    ] {
      try library.savePosition(for: id, position: given)
      #expect(library.loadPosition(for: id) == taken)
    }
    try library.flush()
    for bad in [Double.nan, .infinity, -.infinity, .signalingNaN] {
      #expect { try library.savePosition(for: id, position: bad) } throws: { isInvalidItem($0) }
    }
    #expect(library.loadPosition(for: id) == 3_600)
    // Of a book whose duration is not known yet, any position is.
    let long = try library.importBook(from: URL(filePath: "/long.m4b"), fingerprint: "long")
    try library.savePosition(for: long.id, position: 1e6)
    #expect(library.loadPosition(for: long.id) == 1e6)
  }

  @Test("the log takes at most one event per book per 5 s, and they are quiet")
  func spacing() throws {
    for tick in 1...1_000 {
      for number: UInt8 in [1, 2] {
        try library.savePosition(for: book(number).id, position: Double(tick) / 10)
      }
      app.clock.advance(seconds: 0.1)
    }
    for number: UInt8 in [1, 2] {
      let events = try app.positionEvents(of: book(number).id)
      #expect(events.count == 20 && events.allSatisfy(\.isQuiet))
      #expect(zip(events, events.dropFirst()).allSatisfy { $1.time - $0.time >= 5_000 })
    }
  }

  @Test("the last position is written at pause, stop and close, and once")
  func flush() throws {
    let id = book(1).id
    try library.savePosition(for: id, position: 1)
    try library.savePosition(for: id, position: 2)
    #expect(try app.positionEvents(of: id).map(\.seconds) == [.int64(1)])
    try library.flush()
    try library.flush()
    #expect(try app.positionEvents(of: id).map(\.seconds) == [.int64(1), .int64(2)])
    try library.savePosition(for: id, position: 3)
    try library.close()
    #expect(try app.positionEvents(of: id).last?.seconds == .int64(3))
    // What was flushed has its five seconds too.
    app.clock.advance(seconds: 4.9)
    try library.savePosition(for: id, position: 4)
    #expect(try app.positionEvents(of: id).count == 3)
    app.clock.advance(seconds: 0.1)
    try library.savePosition(for: id, position: 5)
    #expect(try app.positionEvents(of: id).count == 4)
  }

  @Test("a library that is let go writes what waits")
  func release() throws {
    var other: BookLibrary? = try app.another()
    try other?.savePosition(for: book(1).id, position: 1)
    try other?.savePosition(for: book(1).id, position: 2)
    #expect(app.store.position(of: book(1).id) == 1)
    other = nil
    #expect(app.store.position(of: book(1).id) == 2)
  }

  @Test("a book change writes what waits in the same commit as the change")
  func bookChange() throws {
    try library.saveCurrentBookID(book(1).id)
    try library.savePosition(for: book(1).id, position: 1)
    try library.savePosition(for: book(1).id, position: 2)
    let before = app.commitCount
    try library.saveCurrentBookID(book(1).id)
    #expect(app.commitCount == before)
    try library.saveCurrentBookID(book(2).id)
    #expect(app.commitCount == before + 1 && library.loadCurrentBookID() == book(2).id)
    #expect(try app.positionEvents(of: book(1).id).map(\.seconds) == [.int64(1), .int64(2)])
  }

  @Test("a waiting position yields to a newer one received from another device, and to no older one")
  func yields() throws {
    let id = book(1).id
    func remote(_ seconds: Double) -> Event {
      Event(
        library: "books", item: id.favoriteID, action: .changed,
        fields: [Field(name: "currentPosition", value: .number(seconds) ?? .null, isQuiet: true)])
    }
    try library.savePosition(for: id, position: 10)
    try library.savePosition(for: id, position: 11)
    app.receive(remote(900), number: 1)
    #expect(library.loadPosition(for: id) == 900 && library.loadBooks()[0].currentPosition == 900)
    try library.flush()
    #expect(try library.loadPosition(for: id) == 900 && app.positionEvents(of: id).count == 1)
    // Who goes on playing here says so.
    try library.savePosition(for: id, position: 12)
    #expect(library.loadPosition(for: id) == 12)
    app.clock.advance(seconds: 60)
    try library.savePosition(for: id, position: 13)
    try library.savePosition(for: id, position: 14)
    app.receive(remote(800), number: 2, later: -30_000)
    try library.flush()
    #expect(library.loadPosition(for: id) == 14)
  }

  @Test("selecting another book never writes 0 over a saved position")
  func selecting() throws {
    let (first, second) = (book(1).id, book(2).id)
    try library.saveCurrentBookID(first)
    try library.savePosition(for: first, position: 100)
    try library.saveCurrentBookID(second)
    try library.savePosition(for: second, position: 200)
    for (from, to) in [(second, first), (first, second), (second, first)] {
      let positions = (library.loadPosition(for: from), library.loadPosition(for: to))
      #expect(try !library.savePosition(for: to, position: 0))
      try library.savePosition(for: from, position: 0)
      try library.saveCurrentBookID(to)
      #expect(try !library.savePosition(for: to, position: 0))
      try library.flush()
      #expect(library.loadPosition(for: from) == positions.0 && library.loadPosition(for: to) == positions.1)
      try library.savePosition(for: to, position: positions.1 + 1)
      app.clock.advance(seconds: 7)
    }
    try library.flush()
    for events in try app.store.positionEvents().values {
      #expect(!events.contains { $0.seconds == .int64(0) })
    }
    // After a launch as well.
    #expect(try !app.another().savePosition(for: first, position: 0))
    #expect(try app.another().loadPosition(for: first) > 100)
  }

  @Test("who goes back to the beginning is at the beginning")
  func beginning() throws {
    let id = book(1).id
    try library.savePosition(for: id, position: 100)
    #expect(try library.savePosition(for: id, position: 0))
    try library.flush()
    #expect(try app.another().loadPosition(for: id) == 0)
    try library.savePosition(for: id, position: 100)
    try library.flush()
    try library.restartBook(id)
    #expect(try app.another().loadPosition(for: id) == 0)
  }

  @Test("a clock that is set back does not keep positions waiting")
  func clockSetBack() throws {
    let id = book(1).id
    try library.savePosition(for: id, position: 1)
    app.clock.now -= 3_600_000
    try library.savePosition(for: id, position: 2)
    #expect(try app.positionEvents(of: id).count == 2)
  }

  @Test("a position that could not be written still waits")
  func failedWrite() throws {
    let id = book(1).id
    try library.savePosition(for: id, position: 1)
    try library.savePosition(for: id, position: 2)
    struct Stop: Error {}
    #expect(throws: Stop.self) {
      try app.store.write {
        try library.flush()
        throw Stop()
      }
    }
    try library.savePosition(for: id, position: 3)
    try library.flush()
    #expect(try app.positionEvents(of: id).map(\.seconds) == [.int64(1), .int64(3)])
  }

  @Test(
    "10 reports a second for each book: one event per book and 5 s, whatever ends in between, and no last position lost"
  )
  func manyReports() throws {
    let folder = try TestFolder()
    let path = folder.url.appending(path: "favorites.heartlog").path
    let clock = app.clock
    var options = StoreOptions()
    options.clock = { clock.now }
    options.durability = .buffered
    var store = try FavoritesStore(at: path, options: options)
    var library = try BookLibrary(store)
    let books = (1...5).map { book(UInt8($0)) }
    try library.saveBooks(books)
    var last: [Book.ID: Double] = [:]
    var flushes: Set<Milliseconds> = []
    var current = 0
    // A prime, so that what ends does so at every point of a window. In the end each book was selected twice.
    let period = 107
    let ticks = period * 4 * books.count * 2
    let windows = ticks / 50

    for tick in 1...ticks {
      clock.now += 100
      for (number, book) in books.enumerated() {
        let position = Double((tick * 7 + number * 131) % 36_000 + 1) / 10
        try library.savePosition(for: book.id, position: position)
        last[book.id] = position
      }
      guard tick % period == 0 else { continue }
      flushes.insert(clock.now)
      switch tick / period % 4 {
      case 0: try library.flush()
      case 1:
        current = (current + 1) % books.count
        try library.saveCurrentBookID(books[current].id)
      case 2: try library.close()
      default:
        try library.close()
        try store.close()
        store = try FavoritesStore(at: path, options: options)
        library = try BookLibrary(store)
      }
      for book in books { #expect(store.position(of: book.id) == last[book.id]) }
    }
    try library.close()
    flushes.insert(clock.now)
    let events = try store.positionEvents()
    for book in books {
      #expect(library.loadPosition(for: book.id) == last[book.id])
      let times = try #require(events[book.id.favoriteID]).map(\.time)
      // What is no pause, book change or close keeps its distance to whatever was written before it, a reopening or not.
      let regular = times.filter { !flushes.contains($0) }
      #expect(regular.count <= windows && regular.count > windows * 8 / 10)
      #expect(!zip(times, times.dropFirst()).contains { !flushes.contains($1) && $1 - $0 < 5_000 })
    }
    try store.close()
  }
}

extension FavoritesStore {
  /// What the store itself holds, whatever waits.
  func position(of id: Book.ID) -> Double? {
    switch read({ $0.item(id.favoriteID, in: "books")?.value(of: "currentPosition") }) {
    case .int64(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }
}
