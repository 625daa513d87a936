import Foundation
import Heartlog
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("papers: the favorite papers")
struct FavoritePapersTests {
  private let clock = ManualClock()
  private let store: FavoritesStore
  private let papers: FavoritePapers

  init() throws {
    store = try .inMemory(options: clock.options)
    papers = try FavoritePapers(store)
  }

  static func paper(_ id: String, isFavorite: Bool = false) throws -> Paper {
    Paper(
      id: id, title: "On \(id)", summary: "A summary", authors: ["A. Author", "B. Author"],
      categories: ["cs.PL"], publishedDate: Date(timeIntervalSince1970: 1_591_920_000),
      pdfURL: try #require(URL(string: "https://arxiv.org/pdf/\(id)")),
      linkURL: try #require(URL(string: "https://arxiv.org/abs/\(id)")), isFavorite: isFavorite)
  }

  /// The lists of the app's controller.
  private final class Controller {
    var latestPapers: [Paper] = []
    var csPapers: [Paper] = []
    var searchResults: [Paper] = []
  }

  @Test("papers take-over: the favorites among the rows are one commit, with their dates; again is nothing")
  func migrate() throws {
    var rows = try ["1v1", "2v1", "3v1"].map { try Self.paper($0, isFavorite: $0 != "2v1") }
    rows[0].favoritedDate = Date(timeIntervalSince1970: 5)
    rows.append(try Self.paper("", isFavorite: true))
    let report = try papers.migrate(from: rows)
    #expect(report.count == 2 && report.failures == [.invalidItem("record 4: a paper without an id")])
    #expect(store.read(\.commitCount) == 1 && papers.favoritePapers.map(\.id) == ["3v1", "1v1"])
    #expect(papers.favorites.favoritedDate(of: "1v1") == Date(timeIntervalSince1970: 5))
    try papers.toggleFavorite(for: rows[0])
    let digest = store.digest
    #expect(try papers.migrate(from: rows).count == 0 && store.digest == digest)
  }

  @Test("papers take-over: a row keeps all that the app shows, and dates of one millisecond their order")
  func wholeRow() throws {
    let start = 787_654_321.123
    let rows = try (1...3).reversed().map { number in
      var paper = try Self.paper("\(4 - number)v1", isFavorite: true)
      // As the app keeps them: joined by ", ".
      paper.authors = "A. Author, B. Author".components(separatedBy: ", ")
      paper.categories = "cs.AI, math.CO".components(separatedBy: ", ")
      paper.updatedDate = Date(timeIntervalSinceReferenceDate: 5)
      paper.favoritedDate = Date(timeIntervalSinceReferenceDate: start + Double(number) / 10_000)
      return paper
    }
    #expect(try papers.migrate(from: rows).count == 3)
    let written = try store.readLog().next()?.records.compactMap(\.event?.item)
    #expect(written == ["3v1", "2v1", "1v1"])
    var shown = try #require(papers.favoritePapers.first { $0.id == "1v1" })
    #expect(
      shown.favoritedDate.map { abs($0.timeIntervalSince(rows[0].favoritedDate ?? .now)) < 0.001 } == true)
    shown.favoritedDate = rows[0].favoritedDate
    #expect(shown == rows[0])
  }

  // MARK: - Flows of the document

  @Test("papers flow: add to favorites")
  func addFlow() throws {
    let paper = try Self.paper("2006.08594v1")
    let controller = Controller()
    controller.latestPapers = [try Self.paper("1v1"), paper]
    controller.csPapers = [paper]
    controller.searchResults = [paper]
    // A tap on the heart of a row or of the detail view.
    let shown = try papers.toggleFavorite(for: paper)
    #expect(shown.isFavorite && shown.favoritedDate == clock.now)
    // The list of favorites and all the lists show it.
    #expect(papers.favoritePapers == [shown])
    papers.updatePaperInAllCategories(paper, of: controller, \.latestPapers, \.csPapers, \.searchResults)
    #expect(controller.latestPapers == [try Self.paper("1v1"), shown])
    #expect(controller.csPapers == [shown] && controller.searchResults == [shown])
  }

  @Test("papers flow: remove from favorites")
  func removeFlow() throws {
    let paper = try Self.paper("2006.08594v1")
    let controller = Controller()
    controller.csPapers = [try papers.toggleFavorite(for: paper)]
    // A tap on the filled heart.
    let shown = try papers.toggleFavorite(for: controller.csPapers[0])
    #expect(!shown.isFavorite && shown.favoritedDate == nil)
    papers.updatePaperInAllCategories(shown, of: controller, \.latestPapers, \.csPapers)
    #expect(papers.favoritePapers == [] && controller.csPapers == [paper])
  }

  @Test("papers flow: load favorites, newest first, after the app was opened again")
  func loadFlow() async throws {
    try await withStoreFolder { folder in
      let before = try FavoritesStore(at: folder, options: clock.options)
      for id in ["1v1", "2v1", "3v1"] {
        clock.advance(by: 1)
        try FavoritePapers(before).toggleFavorite(for: Self.paper(id))
      }
      try before.close()

      let after = try FavoritesStore(at: folder, options: clock.options)
      let loaded = try FavoritePapers(after).loadFavoritePapers()
      #expect(loaded.map(\.id) == ["3v1", "2v1", "1v1"])
      #expect(loaded.allSatisfy(\.isFavorite) && loaded[0].favoritedDate == clock.now)
      // Loading takes in what another process did meanwhile.
      let other = try FavoritePapers(FavoritesStore(at: folder, options: clock.options))
      try other.toggleFavorite(for: loaded[0])
      #expect(try FavoritePapers(after).loadFavoritePapers().map(\.id) == ["2v1", "1v1"])
    }
  }

  // MARK: - Lines of the page

  @Test(
    "papers: isFavorite and favoritedDate are derived: what an app writes into them never reaches the store")
  func derived() throws {
    var paper = try Self.paper("1v1", isFavorite: true)
    paper.favoritedDate = clock.now
    try papers.favorites.update(paper)
    #expect(!papers.isFavorite(paper) && papers.favoritePapers == [])
    #expect(try papers.favorites.item("1v1") == Self.paper("1v1"))
  }

  @Test("papers keep: v1 and v2 are two favorites")
  func versions() throws {
    let v1 = try Self.paper("quant-ph/0201082v1")
    let v2 = try Self.paper("quant-ph/0201082v2")
    try papers.toggleFavorite(for: v1)
    #expect(papers.isFavorite(v1) && !papers.isFavorite(v2))
    clock.advance(by: 1)
    try papers.toggleFavorite(for: v2)
    #expect(papers.favoritePapers.map(\.id) == [v2.id, v1.id])
    try papers.toggleFavorite(for: v1)
    #expect(papers.favoritePapers.map(\.id) == [v2.id])
  }

  @Test("papers mend: toggle flips the state the store holds, not a stale flag of the object passed in")
  func staleFlag() throws {
    let claimed = try Self.paper("1v1", isFavorite: true)
    #expect(!papers.isFavorite(claimed))
    #expect(try papers.toggleFavorite(for: claimed).isFavorite)
    // The object is as stale as it was, and flips back all the same.
    #expect(try !papers.toggleFavorite(for: Self.paper("1v1")).isFavorite)
    #expect(papers.favoritePapers == [])
  }

  @Test("papers keep: favoritedDate is stamped when on, cleared when off; on again is a new date")
  func dates() throws {
    let paper = try Self.paper("1v1")
    let first = clock.now
    let on = try papers.toggleFavorite(for: paper)
    #expect(on.favoritedDate == first)
    clock.advance(by: 1)
    #expect(try papers.toggleFavorite(for: on).favoritedDate == nil)
    clock.advance(by: 1)
    // What is passed in still has the first date, and it does not count.
    #expect(try papers.toggleFavorite(for: on).favoritedDate == clock.now)
    #expect(papers.favoritePapers.map(\.favoritedDate) == [clock.now] && clock.now != first)
  }

  @Test("papers mend: setting favorite on what is already favorite changes nothing, the date included")
  func setTwice() throws {
    let paper = try Self.paper("1v1")
    let shown = try papers.setFavorite(true, for: paper)
    let digest = store.digest
    clock.advance(by: 1)
    #expect(try papers.setFavorite(true, for: paper) == shown)
    #expect(store.digest == digest && store.eventCount(of: "papers") == 1)
    #expect(try papers.setFavorite(false, for: shown) == paper)
    #expect(try papers.setFavorite(false, for: shown) == paper)
    #expect(store.eventCount(of: "papers") == 2)
  }

  @Test(
    "papers keep: favoritePapers is ordered by favoritedDate, newest first, ties by the order of the writes")
  func order() throws {
    for id in ["2v1", "10v1", "1v2", "1v1"] { try papers.toggleFavorite(for: Self.paper(id)) }
    clock.advance(by: 1)
    try papers.toggleFavorite(for: Self.paper("9v9"))
    #expect(papers.favoritePapers.map(\.id) == ["9v9", "1v1", "1v2", "10v1", "2v1"])
  }

  @Test("papers keep: a paper that was never stored before is stored by its first toggle")
  func firstToggle() throws {
    let paper = try Self.paper("2006.08594v1")
    #expect(try papers.favorites.item(paper.id) == nil)
    let shown = try papers.toggleFavorite(for: paper)
    #expect(try papers.favorites.item(paper.id) == shown)
    // Switched off, it is still known, and no favorite.
    try papers.toggleFavorite(for: paper)
    #expect(try papers.favorites.item(paper.id) == paper)
  }

  @Test(
    "papers: updatePaperInAllCategories sets flag and date by id in any number of lists and search results, keeps the order, touches nothing else, never re-stamps"
  )
  func allCategories() throws {
    let favorite = try papers.toggleFavorite(for: Self.paper("2v1"))
    let date = clock.now
    clock.advance(by: 1)
    var own = try Self.paper("2v1", isFavorite: true)
    own.title = "The title as this list has it"
    own.favoritedDate = clock.now
    let stale = try Self.paper("4v1", isFavorite: true)
    var lists: [String: [Paper]] = [
      "latest": [try Self.paper("3v1"), own, try Self.paper("1v1"), own], "cs": [own], "math": [],
      "search": [stale, try Self.paper("2v1"), try Self.paper("2v2")],
    ]
    let before = lists
    let digest = store.digest
    papers.updatePapersInAllCategories(&lists)

    #expect(lists.keys.sorted() == before.keys.sorted())
    for (category, list) in lists {
      #expect(list.map(\.id) == before[category]?.map(\.id))
      #expect(list.map(\.title) == before[category]?.map(\.title))
      #expect(list.allSatisfy { $0.isFavorite == ($0.id == "2v1") })
      #expect(list.allSatisfy { $0.favoritedDate == ($0.id == "2v1" ? date : nil) })
    }
    #expect(store.digest == digest && favorite.favoritedDate == date)

    // One paper at a time: the others stay as they are.
    var some = before
    papers.updatePaperInAllCategories(favorite, in: &some)
    #expect(some["search"]?[0] == stale && some["search"]?[1] == favorite)
    #expect(some["latest"] == lists["latest"] && some["cs"] == lists["cs"])
    #expect(papers.updatePapers(before["search"] ?? []) == lists["search"])
  }

  @Test("papers: a feed of a hundred is favorited in part, and every list of it shows that", .needsRealData)
  func realFeed() throws {
    let feed = try Paper.papers(atom: RealData.bytes("papers/feed-100.atom.xml"))
    for paper in feed.prefix(40) {
      clock.advance(by: 1)
      try papers.toggleFavorite(for: paper)
    }
    #expect(papers.favoritePapers.map(\.id) == feed.prefix(40).map(\.id).reversed())
    var lists = Dictionary(grouping: feed) { $0.categories[0] }
    lists["search"] = feed.reversed()
    papers.updatePapersInAllCategories(&lists)
    let favorites = Dictionary(uniqueKeysWithValues: papers.favoritePapers.map { ($0.id, $0) })
    for paper in lists.values.joined() {
      #expect(paper.isFavorite == (favorites[paper.id] != nil))
      if let favorite = favorites[paper.id] { #expect(paper == favorite) }
    }
    #expect(lists["search"]?.map(\.id) == feed.map(\.id).reversed())
  }
}
