import Foundation
import Heartlog
@testable import HeartlogInterchange
@testable import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("archives as files: identifiers, favorites, searches, items, tables and bookmarks")
struct ArchiveFileTests {
  private static func filled() throws -> FavoritesStore {
    let store = try FavoritesStore.inMemory()
    let library = try store.library("archives")
    let archives = [
      Archive(
        identifier: "a.b_c-1", title: "1984", archiveTitle: "Other", mediatype: "texts",
        creators: ["Brown, Hunter"], desc: "two\nlines <b>"),
      Archive(identifier: "plain"),
      Archive(
        identifier: "many", title: "x", creators: ["A, B", "12"], publishers: ["P"],
        iconUrlString: "https://archive.org/services/img/many"),
    ]
    for (index, archive) in archives.enumerated() {
      try library.add(
        archive.id, fields: FieldEncoder.fields(of: archive), favoritedDate: 1_772_438_400_123 - Int64(index))
    }
    // As other programs may have written it: a list of one.
    try library.set(
      [Field(name: "creators", value: try FieldValue(JSONValue.parse(#"["One"]"#)))], of: "plain")
    try library.setNote("a note, \"quoted\"", of: "plain")
    try library.collection("Later").insert("many")
    return store
  }

  @Test("what is exported comes back as it was, and a second import writes nothing", arguments: 0..<3)
  func roundTrip(index: Int) throws {
    let formats: [any FileFormat] = [ArchiveJSONFormat(), CSVFormat(), BookmarksFormat()]
    try checkRoundTrip(of: "archives", as: formats[index], from: Self.filled())
  }

  @Test("tracks in order come back in order", arguments: 0..<2)
  func tracks(index: Int) throws {
    let formats: [any FileFormat] = [CSVFormat(), BookmarksFormat()]
    let store = try FavoritesStore.inMemory()
    let library = try store.library("tracks")
    for name in ["b.mp3", "a%20b.mp3", "%E9%9F%B3.mp3"] {
      let track = Track(
        url: try #require(URL(string: "https://archive.org/download/x/\(name)")), title: name,
        archiveIdentifier: "x")
      try library.add(track.id.favoriteID, fields: FieldEncoder.fields(of: track))
      try library.collection("Favorites").insert(track.id.favoriteID, at: 0)
    }
    try checkRoundTrip(of: "tracks", as: formats[index], from: store)
  }

  @Test("the user's order of the playlist goes through export and import", arguments: 0..<3)
  func playlist(index: Int) throws {
    let formats: [any FileFormat] = [JSONLinesFormat(), CSVFormat(), BookmarksFormat()]
    let (from, to) = (try FavoritesStore.inMemory(), try FavoritesStore.inMemory())
    let playlist = try FavoriteTracks(from)
    for name in ["a", "b", "c", "d", "e"] {
      try playlist.appendFavoriteItem(
        Track(url: try #require(URL(string: "https://archive.org/download/x/\(name).mp3")), title: name))
    }
    try playlist.move(from: 4, to: 0)
    try playlist.move(from: 1, to: 3)
    #expect(playlist.favoriteItems.map(\.title) == ["e", "b", "c", "a", "d"])
    try to.take(from.library("tracks").exportFile(format: formats[index]), formats[index], into: "tracks")
    #expect(try FavoriteTracks(to).favoriteItems.map(\.title) == ["e", "b", "c", "a", "d"])
  }

  @Test("a date and subjects that are arrays are no reason to refuse an item, nor to change it")
  func dateAndSubjects() throws {
    let store = try FavoritesStore.inMemory()
    let report = try store.take(
      #"{"response":{"docs":[{"identifier":"a","title":["T","U"],"date":["1977-05-08","1977"],"subject":["Live","Soundboard"],"creator":"C"},{"identifier":"b","title":"T","date":"1977","subject":"Live","creator":"C"}]}}"#,
      ArchiveJSONFormat(), into: "archives")
    #expect(report.added == 2 && report.refusals.isEmpty)
    var archives = try FavoriteArchives(store).favoriteArchives
    #expect(archives.map(\.identifier) == ["b", "a"] && archives.map(\.creators) == [["C"], ["C"]])
    for index in archives.indices { (archives[index].identifier, archives[index].iconUrlString) = ("", nil) }
    #expect(archives[0].title == "T" && archives[0] == archives[1])
  }

  @Test("the simple list and the site's favorites are identifiers; what is none is refused with its line")
  func lists() throws {
    let store = try FavoritesStore.inMemory()
    let report = try store.take(
      "[\"one\",\n\"two\",\n7,\n\"\",\n\"one\"]", ArchiveJSONFormat(), into: "archives")
    #expect(refusals(report) == ["3: an integer where an item should be", "4: an item without an id"])
    #expect(report.added == 2 && report.repeated == 1)
    let favorites = #"""
      {"created":1,"dir":"/1/items/fav-anna","metadata":{"identifier":"fav-anna"},
       "members":[{"identifier":"three","mediatype":"audio","title":"Three"},
        {"title":"nothing"}]}
      """#
    let second = try store.take(favorites, ArchiveJSONFormat(), into: "archives")
    #expect(second.added == 1 && second.refusals.map(\.line) == [3])
    #expect(try store.library("archives").item("three")?.value(of: "mediatype") == .string("audio"))
    #expect(try !store.library("archives").contains("fav-anna"))
    for text in ["[\"one\"]", favorites, #"[{"identifier":"x"}]"#] {
      #expect(
        FileFormats.standard.guess(Array(text.utf8), name: nil, for: "archives")?.name == "archive-json")
    }
  }

  @Test("the answers of the scrape API are read page by page")
  func scrape() throws {
    let text =
      #"{"items":[{"identifier":"a","title":"A"},{"identifier":"b"}],"count":2,"cursor":"W3siaWRlbnRpZmllciI6","total":9}"#
    #expect(FileFormats.standard.guess(Array(text.utf8), name: nil, for: "archives")?.name == "archive-json")
    let store = try FavoritesStore.inMemory()
    let report = try store.take(text, ArchiveJSONFormat(), into: "archives")
    #expect(report.added == 2 && report.refusals.isEmpty)
    #expect(try store.library("archives").item("a")?.value(of: "title") == .string("A"))
  }

  @Test("an answer that is an error says so")
  func errors() throws {
    let store = try FavoritesStore.inMemory()
    #expect(throws: LibraryError.invalidAnswer("archive.org answers: \"not found\"")) {
      try store.take(#"{"error":"not found"}"#, ArchiveJSONFormat(), into: "archives")
    }
    for text in ["{}", "12", "", #"{"members":{}}"#] {
      #expect(throws: LibraryError.self) { try store.take(text, ArchiveJSONFormat(), into: "archives") }
    }
  }

  @Test("what the import knows is what the API's decoder knows", .needsRealData)
  func answers() throws {
    for (path, count) in [
      ("archives/advancedsearch-50.json", 50), ("archives/collection-gratefuldead.json", 1),
      ("archives/item.json", 1),
      ("archives/search-result.json", 1),
    ] {
      let store = try FavoritesStore.inMemory()
      let bytes = try RealData.bytes(path)
      #expect(
        FileFormats.standard.guess(bytes, name: nil, for: "archives")?.name == "archive-json", "\(path)")
      let report = try store.take(bytes, ArchiveJSONFormat(), into: "archives")
      #expect(report.added == count && report.refusals.isEmpty)
      #expect(try store.take(bytes, ArchiveJSONFormat(), into: "archives").events == 0)
      for archive in try Archive.archives(answer: RealData.json(path)) {
        let item = try #require(store.library("archives").item(archive.id))
        #expect(try Array(item.fields) == FieldEncoder.fields(of: archive).filter { !$0.value.isNull })
      }
    }
  }

  @Test("one bad document of a search takes no other with it")
  func badDocument() throws {
    let store = try FavoritesStore.inMemory()
    let report = try store.take(
      #"""
      {"responseHeader":{},"response":{"numFound":4,"docs":[
        {"identifier":["a"],"title":["A","B"],"creator":"C"},
        {"title":"no identifier"},
        {"identifier":"b","title":"x","title":"y"},
        {"identifier":"c","downloads":NaN},
        {"identifier":"d"}]}}
      """#, ArchiveJSONFormat(), into: "archives")
    #expect(report.refusals.map(\.line) == [3, 4, 5] && report.added == 2)
  }

  @Test("a browser's bookmarks of the Archive are archives, and tracks where they are files")
  func bookmarks() throws {
    let text = """
      <!DOCTYPE NETSCAPE-Bookmark-file-1>
      <DL><p>
      <DT><A HREF="https://archive.org/details/gd1977-05-08?start=12#x" ADD_DATE="1700000000">Barton Hall : Free Download, Borrow, and Streaming : Internet Archive</A>
      <DT><A HREF="http://www.archive.org/download/x/a%20b.mp3">a b</A>
      <DT><A HREF="https://web.archive.org/web/2020/https://example.org/">Wayback</A>
      <DT><A HREF="https://archive.org/details/@anna">Anna</A>
      <DT><A HREF="https://example.org/details/x">x</A>
      </DL>
      """
    let store = try FavoritesStore.inMemory()
    let report = try store.take(text, BookmarksFormat(), into: "archives")
    #expect(try store.stored("archives").map(\.id) == ["gd1977-05-08", "x"])
    #expect(report.refusals.map(\.line) == [5, 6, 7])
    let item = try #require(store.library("archives").item("gd1977-05-08"))
    #expect(item.favoritedDate == 1_700_000_000_000 && item.value(of: "title") == .string("Barton Hall"))
    try store.take(text, BookmarksFormat(), into: "tracks")
    #expect(try store.stored("tracks").map(\.id) == ["https://archive.org/download/x/a%20b.mp3"])
  }
}
