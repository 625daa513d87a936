import Foundation
import Heartlog
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("archives: the favorite archives")
struct FavoriteArchivesTests {
  private let clock = ManualClock()
  private let store: FavoritesStore
  private let archives: FavoriteArchives

  init() throws {
    store = try .inMemory(options: clock.options)
    archives = try FavoriteArchives(store)
  }

  private let album = Archive(
    identifier: "gd77-05-08", title: "Barton Hall", archiveTitle: "Barton Hall", mediatype: "etree",
    creators: ["Grateful Dead"], publishers: ["A. Taper"], desc: "Cornell\n1977")

  @Test("archives: toggleFavoriteArchive, by what is stored")
  func toggle() throws {
    #expect(
      try archives.toggleFavoriteArchive(album) && archives.isFavoriteArchive(identifier: album.identifier))
    #expect(try !archives.toggleFavoriteArchive(album) && archives.favoriteArchives == [])
    #expect(throws: LibraryError.invalidItem("an archive without an identifier")) {
      try archives.toggleFavoriteArchive(Archive(identifier: ""))
    }
  }

  @Test("archives: writes for tasks, with the same errors")
  func asynchronous() async throws {
    try await archives.run { [album] in try $0.addFavoriteArchive(album) }
    #expect(archives.isFavoriteArchive(identifier: album.identifier))
    await #expect(throws: LibraryError.alreadyFavorite("Archive is already in Favorite Archives.")) {
      try await archives.run { [album] in try $0.addFavoriteArchive(album) }
    }
    #expect(try await archives.run { try $0.removeFavoriteArchive(identifier: "gd77-05-08") })
  }

  @Test("archives take-over: one commit of rows, which splits joined creators only where that is certain")
  func migrate() throws {
    func row(_ id: String?, _ creator: String?, publisher: String? = nil, at seconds: Double) -> Archive {
      Archive(
        identifier: id, title: "T", archiveTitle: nil, mediatype: "texts", creator: creator,
        publisher: publisher,
        desc: nil, iconUrlString: nil, dateAdded: Date(timeIntervalSince1970: seconds))
    }
    let rows = [
      row("a", "Brown, Hunter", at: 1), row("b", "LibriVox, Jane Austen", at: 2),
      row("c", "Jane Austen", publisher: "LibriVox", at: 3), row(nil, "Nobody", at: 4), row("d", "", at: 5),
      row("e", "Jane Austen, Unknown", at: 6),
    ]
    let report = try archives.migrate(from: rows)
    #expect(
      report.count == 5 && report.failures == [.invalidItem("record 4: an archive without an identifier")])
    #expect(store.read(\.commitCount) == 1)
    let taken = archives.favoriteArchives
    #expect(taken.map(\.identifier) == ["e", "d", "c", "b", "a"])
    #expect(
      taken.map(\.creators) == [
        ["Jane Austen, Unknown"], [], ["Jane Austen"], ["LibriVox", "Jane Austen"], ["Brown, Hunter"],
      ])
    #expect(taken.last?.dateAdded == Date(timeIntervalSince1970: 1))
    // Again changes nothing, and what was removed since stays removed.
    try archives.removeFavoriteArchive(identifier: "a")
    let digest = store.digest
    #expect(try archives.migrate(from: rows).count == 0 && store.digest == digest)
  }

  @Test(
    "archives take-over: rows whose dates differ by microseconds are listed newest first, whatever their order"
  )
  func microseconds() throws {
    let rows = [2, 4, 1, 3].map { number in
      Archive(
        identifier: ["d", "a", "c", "b"][number - 1], title: "T", archiveTitle: "T", mediatype: "audio",
        creator: "A, B", publisher: "P", desc: "one\ntwo",
        iconUrlString: "https://archive.org/services/img/x",
        dateAdded: Date(timeIntervalSinceReferenceDate: 787_654_321.123 + Double(number) / 10_000))
    }
    #expect(try archives.migrate(from: rows).count == 4)
    #expect(store.read(\.commitCount) == 1)
    let written = try store.readLog().next()?.records.compactMap(\.event?.item)
    #expect(written == ["d", "a", "c", "b"])
    let first = try #require(archives.favoriteArchives.first { $0.identifier == "a" })
    #expect(first.displayTitle == "T" && first.desc == "one\ntwo" && first.mediatype == rows[0].mediatype)
    #expect(first.iconUrlString == rows[0].iconUrlString && first.displayCreator == "A, B")
  }

  @Test("archives take-over: a row that the store refuses is reported, and the others are taken")
  func refusedRow() throws {
    let long = String(repeating: "x", count: 4_097)
    let report = try archives.migrate(from: ["a\u{7}", long, "b"].map { Archive(identifier: $0) })
    #expect(report.count == 1 && report.failures.count == 2 && store.read(\.commitCount) == 1)
    #expect(archives.favoriteArchives.map(\.identifier) == ["b"])
  }

  @Test(
    "archives keep: the filter looks at each of its fields alone, and at no other",
    arguments: [
      (Archive(identifier: "a", archiveTitle: "A Needle"), true),
      (Archive(identifier: "a", title: "A Needle"), true),
      (Archive(identifier: "a", creators: ["A Needle"]), true),
      (Archive(identifier: "a", desc: "A Needle"), true),
      (Archive(identifier: "a", publishers: ["A Needle"]), true),
      (Archive(identifier: "needle", mediatype: "needle", iconUrlString: "https://needle"), false),
    ])
  func filterFields(archive: Archive, isFound: Bool) throws {
    try archives.addFavoriteArchive(archive)
    #expect(archives.favoriteArchives(matching: "nEED").count == (isFound ? 1 : 0))
  }

  // MARK: - Flows of the document

  @Test("archives flow: add to favorites")
  func addFlow() throws {
    // The heart of the detail view is empty; a tap adds the document that the view shows.
    #expect(!archives.isFavoriteArchive(identifier: "gd77-05-08"))
    try archives.addFavoriteArchive(
      Archive(document: #"{"identifier":"gd77-05-08","title":"Barton Hall","mediatype":"etree"}"#))
    // The list is refreshed, the heart fills.
    #expect(try archives.refreshFavoriteArchives().map(\.identifier) == ["gd77-05-08"])
    #expect(archives.isFavoriteArchive(identifier: "gd77-05-08"))
    #expect(archives.favoriteArchives[0].dateAdded == clock.now)
  }

  @Test("archives flow: remove from favorites")
  func removeFlow() throws {
    try archives.addFavoriteArchive(album)
    // A tap on the filled heart, or a swipe in the list.
    #expect(try archives.removeFavoriteArchive(identifier: album.identifier))
    // The heart empties, the item leaves the list.
    #expect(try archives.refreshFavoriteArchives() == [])
    #expect(!archives.isFavoriteArchive(identifier: album.identifier))
  }

  @Test("archives flow: view the favorites list, after the app was opened again")
  func listFlow() async throws {
    try await withStoreFolder { folder in
      let before = try FavoritesStore(at: folder, options: clock.options)
      try FavoriteArchives(before).addFavoriteArchive(album)
      try before.close()

      // The view appears and refreshes; it shows rows with icon, title, creator and media type.
      let archives = try FavoriteArchives(FavoritesStore(at: folder, options: clock.options))
      let rows = try archives.refreshFavoriteArchives()
      var expected = album
      expected.dateAdded = clock.now
      #expect(rows == [expected])
      #expect(rows[0].displayTitle == "Barton Hall" && rows[0].displayCreator == "Grateful Dead")
      // A tap navigates with the identifier.
      #expect(rows[0].identifier == album.identifier)
    }
  }

  @Test("archives flow: refreshing takes in what another process added")
  func otherProcess() async throws {
    try await withStoreFolder { folder in
      let archives = try FavoriteArchives(FavoritesStore(at: folder))
      let other = try FavoriteArchives(FavoritesStore(at: folder))
      try other.addFavoriteArchive(album)
      #expect(try archives.refreshFavoriteArchives().map(\.identifier) == [album.identifier])
    }
  }

  // MARK: - Lines of the page

  @Test(
    "archives keep: adding an identifier twice throws alreadyFavorite with its text; metadata and date stay")
  func alreadyFavorite() throws {
    try archives.addFavoriteArchive(album)
    let before = archives.favoriteArchives
    let digest = store.digest
    clock.advance(by: 1)
    var again = album
    again.title = "Another title"
    let error = #expect(throws: LibraryError.self) { try archives.addFavoriteArchive(again) }
    #expect(error == .alreadyFavorite("Archive is already in Favorite Archives."))
    #expect(error?.description == "Archive is already in Favorite Archives.")
    #expect(error?.localizedDescription == "Archive is already in Favorite Archives.")
    #expect(archives.favoriteArchives == before && store.digest == digest)
    #expect(store.eventCount(of: "archives") == 1)
  }

  @Test("archives mend: a missing or an empty identifier throws invalidItem, and does not vanish")
  func invalidItem() throws {
    for text in [#"{"title":"x"}"#, #"{"identifier":""}"#, #"{"identifier":[]}"#, #"{"identifier":null}"#] {
      let error = #expect(throws: LibraryError.self) {
        try archives.addFavoriteArchive(Archive(document: JSONValue.parse(text)))
      }
      guard case .invalidItem? = error else { throw Unexpected() }
    }
    #expect(throws: LibraryError.invalidItem("an archive without an identifier")) {
      try archives.addFavoriteArchive(Archive(identifier: "", title: "x"))
    }
    #expect(!archives.isFavoriteArchive(identifier: "") && store.eventCount(of: "archives") == 0)
  }

  private struct Unexpected: Error {}

  @Test("archives keep: removing what is not there is a no-op that returns false and writes no event")
  func removeAbsent() throws {
    #expect(try !archives.removeFavoriteArchive(identifier: "nothing"))
    #expect(try !archives.removeFavoriteArchive(identifier: ""))
    #expect(store.eventCount(of: "archives") == 0)
  }

  @Test("archives keep: adding again after a removal gets a new dateAdded")
  func newDate() throws {
    try archives.addFavoriteArchive(album)
    let listed = archives.favoriteArchives[0]
    try archives.removeFavoriteArchive(identifier: album.identifier)
    clock.advance(by: 1)
    // What the list showed still has the old date, and it does not count.
    try archives.addFavoriteArchive(listed)
    #expect(archives.favoriteArchives.map(\.dateAdded) == [clock.now])
    #expect(listed.dateAdded != clock.now)
  }

  @Test(
    "archives keep: the order is dateAdded, newest first; mend: of two with the same date, the one that was added last is the newer one"
  )
  func order() throws {
    for identifier in ["b", "c", "a"] { try archives.addFavoriteArchive(Archive(identifier: identifier)) }
    clock.advance(by: 1)
    try archives.addFavoriteArchive(Archive(identifier: "z"))
    try archives.addFavoriteArchive(
      Archive(identifier: "old"), since: Date(timeIntervalSince1970: 1_000_000_000))
    #expect(archives.favoriteArchives.map(\.identifier) == ["z", "a", "c", "b", "old"])
  }

  @Test(
    "archives keep: displayTitle is archiveTitle, else title, else Unknown; displayCreator; iconUrl",
    arguments: [("A", "T", "A"), (nil, "T", "T"), (nil, nil, "Unknown")] as [(String?, String?, String)])
  func display(archiveTitle: String?, title: String?, shown: String) throws {
    try archives.addFavoriteArchive(
      Archive(
        identifier: "a", title: title, archiveTitle: archiveTitle, creators: ["B", "C"],
        iconUrlString: "https://archive.org/services/img/a"))
    let row = archives.favoriteArchives[0]
    #expect(row.displayTitle == shown && row.displayCreator == "B, C")
    #expect(row.iconUrl?.absoluteString == "https://archive.org/services/img/a")
  }

  @Test(
    "archives keep: the filter is a case-insensitive substring over archiveTitle, creator, desc and publisher, empty is all; mend: also over title",
    arguments: [
      ("", ["b", "a"]), ("BARTON", ["a"]), ("dead", ["a"]), ("nell\n19", ["a"]), ("taper", ["a"]),
      ("only title", ["b"]), ("ÉTUDES", ["b"]), ("etudes", ["b"]), ("Dead, Jerry", ["a"]), ("zzz", []),
      ("a, ", ["a"]),
    ])
  func filter(query: String, found: [String]) throws {
    var one = album
    one.identifier = "a"
    one.creators = ["Grateful Dead", "Jerry Garcia", "Weir"]
    for archive in [one, Archive(identifier: "b", title: "Only Title: études")] {
      try archives.addFavoriteArchive(archive)
    }
    #expect(archives.favoriteArchives(matching: query).map(\.identifier) == found)
    #expect(archives.favoriteArchives.filter { $0.matches(query) }.map(\.identifier) == found)
  }

  @Test("archives mend: names that contain a comma survive the store")
  func commas() throws {
    try archives.addFavoriteArchive(
      Archive(identifier: "a", creators: ["Brown, Hunter", "Lee"], publishers: ["Sons, Ltd."]))
    let row = archives.favoriteArchives[0]
    #expect(row.creators == ["Brown, Hunter", "Lee"] && row.creator == "Brown, Hunter, Lee")
    #expect(row.publishers == ["Sons, Ltd."])
  }

  @Test("fifty real archives are added once each, found and listed", .needsRealData)
  func realArchives() throws {
    let answer = try RealData.json("archives/advancedsearch-50.json")
    let documents = try #require(answer["response"]?["docs"]?.array)
    for document in documents {
      clock.advance(by: 1)
      try archives.addFavoriteArchive(Archive(document: document))
      #expect(throws: LibraryError.self) { try archives.addFavoriteArchive(Archive(document: document)) }
    }
    let identifiers = documents.compactMap { $0["identifier"]?.string }
    #expect(archives.favoriteArchives.map(\.identifier) == identifiers.reversed())
    #expect(archives.favoriteArchives.allSatisfy { $0.creator != "" && $0.publisher != "" })
    for archive in archives.favoriteArchives {
      #expect(archives.favoriteArchives(matching: archive.displayTitle.uppercased()).contains(archive))
    }
  }
}
