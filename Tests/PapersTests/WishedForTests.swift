import Foundation
import Heartlog
import HeartlogLibraries
import HeartlogTesting
import LibraryTestSupport
import Testing

/// The list of what the app wishes for. Bibliographies, in and out, have suites of their own in Bibliography/; syncing has its tests where
/// it is made.
@Suite("papers: what the app wishes for")
struct WishedForTests {
  private let store: FavoritesStore
  private let papers: FavoritePapers
  private var favorites: Favorites<Paper> { papers.favorites }

  init() throws {
    store = try .inMemory(options: ManualClock().options)
    papers = try FavoritePapers(store)
  }

  @Test("papers future: collections, a paper in several, each with an order of its own")
  func collections() throws {
    let library = favorites.library
    let ids = ["1v1", "2v1", "3v1"]
    try favorites.add(contentsOf: try ids.map { try FavoritePapersTests.paper($0) })
    let talks = try library.collection("talks")
    let thesis = try library.collection("thesis")
    for id in ids { try talks.insert(id) }
    for id in ids { try thesis.insert(id, at: 0) }
    try talks.remove("2v1")
    #expect(talks.ids == ["1v1", "3v1"] && thesis.ids == ["3v1", "2v1", "1v1"])
    #expect(library.collections == ["talks", "thesis"])
    // What is no favorite any more is still on the list to read.
    try favorites.remove("3v1")
    #expect(talks.ids == ["1v1", "3v1"])
    #expect(try favorites.query.collection("talks").items().map(\.title) == ["On 1v1", "On 3v1"])
    // An id of which the store knows nothing else is no item.
    try talks.insert("9v9", at: 0)
    #expect(try favorites.query.collection("talks").items().map(\.id) == ["1v1", "3v1"])
    #expect(try favorites.query.collection("other").items() == [])
    #expect(throws: HeartlogError.self) { try favorites.query.collection("").items() }
    #expect(papers.favoritePapers.map(\.id) == ["2v1", "1v1"])
  }

  @Test("papers future: personal notes, which stay when the heart goes")
  func notes() throws {
    try papers.toggleFavorite(for: try FavoritePapersTests.paper("1v1"))
    #expect(try favorites.setNote("§ 3 is wrong", of: "1v1"))
    try papers.toggleFavorite(for: try FavoritePapersTests.paper("1v1"))
    #expect(favorites.note(of: "1v1") == "§ 3 is wrong")
    #expect(try favorites.setNote(nil, of: "1v1") && favorites.note(of: "1v1") == nil)
  }

  @Test("papers future: search within favorites, by title, author and summary")
  func search() throws {
    for id in ["1v1", "2v1"] { try papers.toggleFavorite(for: try FavoritePapersTests.paper(id)) }
    try papers.toggleFavorite(for: try FavoritePapersTests.paper("2v1"))
    #expect(try favorites.query.search("on 1").items().map(\.id) == ["1v1"])
    #expect(try favorites.query.search("b. AUTHOR").items().map(\.id) == ["1v1"])
    #expect(
      try favorites.query.search("a summary").items().map(\.id) == ["1v1"]
        && favorites.query.search("on 2").items().isEmpty)
  }

  @Test("papers future: statistics, counts and trends over time")
  func statistics() throws {
    let day = 86_400_000 as Milliseconds
    let start = 1_772_409_600_000 as Milliseconds
    try store.write(time: start) { try papers.toggleFavorite(for: try FavoritePapersTests.paper("1v1")) }
    try store.write(time: start + 2 * day) {
      try papers.toggleFavorite(for: try FavoritePapersTests.paper("2v1"))
      try papers.toggleFavorite(for: try FavoritePapersTests.paper("1v1"))
    }
    let statistics = try favorites.library.statistics(by: .day)
    #expect(statistics.intervals.map(\.favorited) == [1, 1])
    #expect(statistics.intervals.map(\.unfavorited) == [0, 1])
    #expect(statistics.intervals.map(\.favoritesAtEnd) == [1, 1])
    #expect(statistics.intervals.map(\.emptyPeriodsBefore) == [0, 1])
    #expect(statistics.mostTapped.map(\.item.id) == ["1v1", "2v1"])
  }

  @Test("papers future: a list of 5,000 is in order, whole and from its beginning")
  func longList() throws {
    // The dates are not in the order of adding, and several papers share one.
    try store.write {
      for number in 0..<5_000 {
        let date = Date(timeIntervalSince1970: Double(number * 7_919 % 5_000 / 3))
        try favorites.add(FavoritePapersTests.paper("\(number)v1"), since: date)
      }
    }
    // Of papers with one date, the one that was added last is the newest.
    let expected = (0..<5_000).map { (date: $0 * 7_919 % 5_000 / 3, number: $0) }.sorted { a, b in
      (a.date, a.number) > (b.date, b.number)
    }.map { "\($0.number)v1" }
    #expect(papers.favoritePapers.map(\.id) == expected)
    #expect(favorites.list(limit: 50).map(\.id) == Array(expected.prefix(50)))
  }

  @Test("papers future: thousands are favorited and unfavorited as one batch each, and listed")
  func batches() throws {
    let all = try (0..<5_000).map { try FavoritePapersTests.paper("\($0)v1") }
    #expect(try favorites.add(contentsOf: all) == 5_000)
    #expect(try favorites.add(contentsOf: all) == 0)
    #expect(papers.favoritePapers.count == 5_000 && favorites.list(limit: 20).count == 20)
    #expect(try favorites.remove(contentsOf: all.prefix(4_000).map(\.id)) == 4_000)
    #expect(favorites.count == 1_000 && store.read(\.commitCount) == 2)
  }
}
