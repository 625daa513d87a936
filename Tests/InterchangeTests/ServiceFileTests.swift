import Heartlog
@testable import HeartlogInterchange
import HeartlogLibraries
import LibraryTestSupport
import Testing

/// What other programs and services export, in the form in which they write it.
@Suite("files of other programs and services")
struct ServiceFileTests {
  private struct Kept: Equatable {
    var title: String?
    var date: Milliseconds?
    var tags: [String] = []
    var collections: [String] = []
    var note: String?
  }

  private static func kept(_ id: String, in store: FavoritesStore, _ library: String = "links") throws -> Kept
  {
    let item = try #require(store.library(library).item(id), "\(id)")
    func text(_ names: String...) -> String? {
      for name in names { if case .string(let text)? = item.value(of: name) { return text } }
      return nil
    }
    return Kept(
      title: text("title", "Title"), date: item.favoritedDate,
      tags: (item.value(of: "tags")?.jsonValue.array ?? []).compactMap(\.string),
      collections: item.fields.map(\.name).filter { $0.hasPrefix("@in/") }.map { String($0.dropFirst(4)) },
      note: text("@note"))
  }

  /// Recognizes and imports a file, and checks that another import writes nothing.
  private static func take(_ text: String, as format: String, into library: String = "links") throws
    -> FavoritesStore
  {
    let store = try FavoritesStore.inMemory()
    let file = try FileText(Array(text.utf8))
    let found = try #require(FileFormats.standard.guess(file.bytes, name: nil, for: library), "\(text)")
    #expect(found.name == format)
    let report = try store.library(library).importFile(file, format: found)
    #expect(report.refusals.isEmpty && report.repeated == 0 && report.leftOut == 0, "\(refusals(report))")
    #expect(try store.library(library).importFile(file, format: found).events == 0)
    for format in FileFormats.standard.formats(for: library)
    where ["csv", "json", "jsonl", "bookmarks"].contains(format.name) {
      try checkRoundTrip(of: library, as: format, from: store)
    }
    return store
  }

  @Test("Pocket: a page of lists, and a table")
  func pocket() throws {
    let page = try Self.take(
      """
      <!DOCTYPE html>
      <html><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8" /><title>Pocket Export</title></head>
      <body><h1>Unread</h1><ul>
      <li><a href="https://example.org/a" time_added="1585881748" tags="x,y z">A</a></li>
      </ul><h1>Read Archive</h1><ul>
      <li><a href="https://example.org/b" time_added="1585881749" tags="">https://example.org/b</a></li>
      </ul></body></html>
      """, as: "bookmarks")
    #expect(
      try Self.kept("https://example.org/a", in: page)
        == Kept(title: "A", date: 1_585_881_748_000, tags: ["x", "y z"], collections: ["Unread"]))
    #expect(
      try Self.kept("https://example.org/b", in: page).collections == ["Read Archive"])
    let table = try Self.take(
      "title,url,time_added,tags,status\nA,https://example.org/a,1585881748,x|y z,unread\n", as: "csv")
    #expect(
      try Self.kept("https://example.org/a", in: table)
        == Kept(title: "A", date: 1_585_881_748_000, tags: ["x", "y z"]))
    #expect(
      try table.library("links").item("https://example.org/a")?.value(of: "status") == .string("unread"))
  }

  @Test("Instapaper: a page with a list for each folder, and a table")
  func instapaper() throws {
    let page = try Self.take(
      """
      <!DOCTYPE html>
      <html><head><meta http-equiv="Content-Type" content="text/html; charset=UTF-8"/><title>Instapaper: Export</title></head>
      <body><h1>Unread</h1><ol><li><a href="https://example.org/a">A</a></ol>
      <h1>Recipes</h1><ol><li><a href="https://example.org/b">B</a></ol></body></html>
      """, as: "bookmarks")
    #expect(try Self.kept("https://example.org/b", in: page).collections == ["Recipes"])
    let table = try Self.take(
      "URL,Title,Selection,Folder,Timestamp,Tags\nhttps://example.org/a,A,\"a, b\",Recipes,1585881748,\"[\"\"x\"\"]\"\n",
      as: "csv")
    #expect(
      try Self.kept("https://example.org/a", in: table)
        == Kept(title: "A", date: 1_585_881_748_000, tags: ["x"], collections: ["Recipes"]))
  }

  @Test("Raindrop: a table with ids, paths of folders, tags and notes")
  func raindrop() throws {
    let store = try Self.take(
      """
      id,title,note,excerpt,url,folder,tags,created,cover,highlights,favorite
      312,A,"my, note",Text,https://example.org/a,Food / Soups,"x, y",2020-04-03T02:42:28.123Z,,,true

      """, as: "csv")
    #expect(
      try Self.kept("312", in: store)
        == Kept(
          title: "A", date: 1_585_881_748_123, tags: ["x", "y"], collections: ["Food", "Soups"],
          note: "my, note"))
    #expect(try store.library("links").item("312")?.value(of: "url") == .string("https://example.org/a"))
  }

  @Test("Goodreads: numbers that are texts, shelves, and the day on which a book was added")
  func goodreads() throws {
    let store = try Self.take(
      #"""
      Book Id,Title,Author,ISBN,ISBN13,My Rating,Date Read,Date Added,Bookshelves,Exclusive Shelf
      7260188,Mockingjay,Suzanne Collins,"=""0439023513""","=""9780439023511""",5,,2012/03/07,"to-read, young-adult",to-read
      99,No ISBN,Somebody,"=""""","=""""",0,2012/01/02,2012/03/08,,read

      """#, as: "csv", into: "shelf")
    #expect(
      try Self.kept("7260188", in: store, "shelf")
        == Kept(title: "Mockingjay", date: 1_331_078_400_000, tags: ["to-read", "young-adult"]))
    let book = try #require(store.library("shelf").item("7260188"))
    #expect(
      book.value(of: "ISBN") == .string("0439023513") && book.value(of: "ISBN13") == .string("9780439023511"))
    #expect(try store.library("shelf").item("99")?.value(of: "ISBN") == nil)
  }

  @Test("Firefox's backup and Chrome's own file are bookmarks, with their folders, tags and dates")
  func browserJSON() throws {
    let firefox = try Self.take(
      #"""
      {"guid":"root________","title":"","index":0,"dateAdded":1585881748000000,"lastModified":1585881748000000,"id":1,"typeCode":2,"type":"text/x-moz-place-container","root":"placesRoot","children":[{"guid":"menu________","title":"menu","index":0,"type":"text/x-moz-place-container","root":"bookmarksMenuFolder","children":[{"guid":"x","title":"Recipes","type":"text/x-moz-place-container","children":[{"guid":"y","title":"A  é","index":0,"dateAdded":1585881748000000,"id":9,"typeCode":1,"tags":"x,y","type":"text/x-moz-place","uri":"https://example.org/a"},{"type":"text/x-moz-place-separator"}]}]}]}
      """#, as: "bookmarks")
    #expect(
      try Self.kept("https://example.org/a", in: firefox)
        == Kept(title: "A é", date: 1_585_881_748_000, tags: ["x", "y"], collections: ["Recipes", "menu"]))
    let chrome = try Self.take(
      #"""
      {"checksum":"0","roots":{"bookmark_bar":{"children":[{"date_added":"13230355348000000","guid":"g","id":"5","name":"A","type":"url","url":"https://example.org/a"}],"id":"1","name":"Bookmarks bar","type":"folder"},"other":{"children":[],"id":"2","name":"Other bookmarks","type":"folder"}},"version":1}
      """#, as: "bookmarks")
    #expect(
      try Self.kept("https://example.org/a", in: chrome)
        == Kept(title: "A", date: 1_585_881_748_000, collections: ["Bookmarks bar"]))
  }

  @Test("a link in a description is text of the description")
  func links() throws {
    let store = try Self.take(
      """
      <!DOCTYPE NETSCAPE-Bookmark-file-1>
      <DL><p><DT><A HREF="https://a/" ADD_DATE="13230355348">A</A>
      <DD>see <a href="https://b/">this</a> and <b>that</b>
      <DT><A HREF="https://c/" ADD_DATE="13230355348000000">C</A></DL>
      """, as: "bookmarks")
    #expect(
      try Self.kept("https://a/", in: store)
        == Kept(title: "A", date: 1_585_881_748_000, note: "see this and that"))
    #expect(try Self.kept("https://c/", in: store).date == 1_585_881_748_000)
    #expect(try store.stored("links").count == 2)
  }

  @Test("a table of papers has ids as a bibliography gives them")
  func papers() throws {
    let store = try Self.take(
      """
      record_id,title,abstract,doi,url
      0,One,Text,10.1000/ABC,
      1,Two,Text,https://doi.org/10.48550/arXiv.2006.08594,
      2,Three,Text,,https://arxiv.org/abs/2006.08595v2
      3,Four,,,

      """, as: "csv", into: "papers")
    #expect(try store.stored("papers").map(\.id) == ["2006.08594", "2006.08595v2", "3", "doi:10.1000/abc"])
  }

  @Test("a tag of RIS after the end of a record is no refused record; a record without its beginning is one")
  func strayTags() throws {
    let text =
      "TY  - JOUR\nID  - a\nTI  - A\nER  - \nN1  - n\nKW  - x\n\n" + "TY  - JOUR\nID  - b\nTI  - B\nER  - \n"
    let report = try FavoritesStore.inMemory().take(text, RISFormat(), into: "papers")
    #expect(report.added == 2 && report.refusals.isEmpty)
    #expect(
      report.remarks.map { "\($0.line): \($0.reason)" } == [
        "5: the tag N1 after the end of a record was left out"
      ])
    let other = try FavoritesStore.inMemory().take(text + "TI  - C\nER  - \n", RISFormat(), into: "papers")
    #expect(refusals(other) == ["12: a record that does not begin with TY"])
  }

  @Test("any column can be named as the id")
  func namedColumn() throws {
    var options = FileFormats.ReadingOptions()
    options.idColumn = "Slug"
    let formats = FileFormats(libraries: .standard, options: options)
    for text in ["SLUG,id2,name\na,1,A\n", #"[{"slug":"a","id2":1,"name":"A"}]"#] {
      let store = try FavoritesStore.inMemory()
      let format = try #require(formats.guess(Array(text.utf8), name: nil, for: "things"))
      #expect(try store.take(Array(text.utf8), format, into: "things").added == 1)
      #expect(try store.library("things").item("a")?.value(of: "name") == .string("A"))
    }
    #expect(throws: LibraryError.self) {
      try FavoritesStore.inMemory().take("id,name\n1,A\n", CSVFormat(options: options), into: "things")
    }
  }
}
