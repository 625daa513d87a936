import Foundation
import Heartlog
@testable import HeartlogInterchange
@testable import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("books as files: the app's array, its settings, tables, bookmarks and LibriVox")
struct BookFileTests {
  private static let formats: [any FileFormat] = [UserDefaultsFormat(), CSVFormat(), BookmarksFormat()]

  private static func filled() throws -> FavoritesStore {
    let store = try FavoritesStore.inMemory()
    let files = [
      "file:///Audiobooks/L'%C3%8Ele%20des%20Pingouins%20%5Bunabridged%5D.m4b", "file:///a.m4b",
      "https://archive.org/download/x/x_64kb_mp3.zip", "file:///odd%2Fname.m4b",
    ]
    for (index, file) in files.enumerated() {
      var book = Book(
        id: UUID(), title: "Book, \"\(index)\"\n", author: index == 0 ? nil : "Лев Толстой",
        fileURL: URL(string: file),
        coverImageURL: index == 1 ? URL(string: "file:///covers/a%20b.jpg") : nil,
        duration: 33_012.75, currentPosition: 0.1 + Double(index),
        dateAdded: Date(timeIntervalSince1970: 1_772_438_400.123 + Double(index)),
        associatedFiles: index == 1 ? [URL(filePath: "/books/a.cue"), URL(filePath: "/books/ä b.nfo")] : [])
      if index == 2 { book.coverStatus = .failed }
      try add(book, to: store)
    }
    let raw = try store.library("books")
    // As it came from another program: with fewer fields, and with others.
    try raw.add(
      UUID().favoriteID,
      fields: [
        Field(name: "title", value: .string("Bare")),
        Field(name: "dateAdded", value: .string("2026-02-03T19:30:00.000Z")),
        Field(name: "@note", value: .string("a note")),
      ], favoritedDate: -1)
    try raw.collection("On the train").insert(raw.favorites()[0].id)
    return store
  }

  private static func add(_ book: Book, to store: FavoritesStore) throws {
    try store.favorites(of: Book.self).add(book, since: book.dateAdded)
  }

  @Test(
    "books: one rule of leniency: what an import refuses, a take-over and a decoder refuse",
    arguments: [
      #"{"duration":-1"#, #"{"duration":"60""#, #"{"currentPosition":"12""#, #"{"isDownloaded":"yes""#,
      #"{"associatedFiles":[1]"#, #"{"author":5"#, #"{"author":null"#, #"{"currentPosition":-5"#,
      #"{"duration":10,"currentPosition":11"#, #"{"duration":null"#, #"{"coverImageURL":"""#,
      #"{"coverImageURL":"http://[x""#, #"{"coverImageURL":7"#, #"{"googleDriveFileID":7"#,
      #"{"isDownloaded":1"#, #"{"associatedFiles":null"#, #"{"associatedFiles":[""]"#,
      #"{"associatedFiles":["/a.cue","file:///b.nfo"]"#, #"{"associatedFiles":"/a.cue""#,
    ])
  func leniency(beginning: String) throws {
    let text =
      #"[\#(beginning),"id":"6F9619FF-8B86-D011-B42D-00C04FC964FF","title":"T","fileURL":"/t.m4b","dateAdded":0}]"#
    let imported = try FavoritesStore.inMemory().take(text, UserDefaultsFormat(), into: "books")
    let shelf = try BookShelf()
    let taken = try shelf.library.migrate(books: text)
    let decoded = try? JSONDecoder().decode([Book].self, from: Data(text.utf8))
    #expect(taken.count == imported.added && taken.failures.count == imported.refusals.count)
    #expect((decoded?.count ?? 0) == imported.added)
    #expect(shelf.library.loadBooks() == decoded ?? [])
  }

  @Test("books: a record of LibriVox that one reader refuses, the other refuses")
  func libriVoxLeniency() throws {
    let records = [
      #"{"id":"1","title":"T","url_zip_file":"https://x/y.zip","totaltimesecs":5}"#,
      #"{"id":"2","title":"T","url_zip_file":"https://x/y.zip"}"#, #"{"id":"3","title":"T"}"#,
      #"{"id":"4","title":"T","url_zip_file":"https://x/y.zip","totaltimesecs":-5}"#,
      #"{"id":"","title":"T","url_zip_file":"https://x/y.zip"}"#,
    ]
    let answer = #"{"books":[\#(records.joined(separator: ",\n"))]}"#
    let read = records.map { try? Book(libriVox: $0, dateAdded: Date(timeIntervalSince1970: 0)) }
    #expect(read.map { $0?.duration } == [5, 0, nil, nil, nil])
    let imported = try FavoritesStore.inMemory().take(answer, LibriVoxFormat(), into: "books")
    #expect(imported.added == 2 && imported.refusals.map(\.line) == [3, 4, 5])
  }

  @Test(
    "books: a bookmarked file is added now, and importing it is the same book; so are LibriVox's added now")
  func bookmarkAndLibriVox() throws {
    let now = Date(timeIntervalSince1970: Double(BookClock.start) / 1_000)
    let libriVox = try BookShelf()
    let answer = Array(try Data(contentsOf: TestFile.fixture("api/books-librivox.json")))
    try libriVox.store.take(answer, LibriVoxFormat(), into: "books")
    let books = libriVox.library.loadBooks()
    #expect(!books.isEmpty && books.allSatisfy { $0.dateAdded == now })

    let shelf = try BookShelf()
    let folder = try TestFolder()
    let file = folder.url.appending(path: "Dune.m4b")
    try Data("the sound of it".utf8).write(to: file)
    let bookmark = #"<DL><DT><A HREF="\#(file.absoluteString)">Dune</A>"#
    try shelf.store.take(bookmark, BookmarksFormat(), into: "books")
    #expect(shelf.library.loadBooks().map(\.dateAdded) == [now])
    try shelf.library.importBook(from: file)
    #expect(shelf.library.loadBooks().count == 1)
  }

  @Test(
    "what is exported comes back as it was, with its position, and a second import writes nothing",
    arguments: 0..<3)
  func roundTrip(index: Int) throws {
    try checkRoundTrip(of: "books", as: Self.formats[index], from: Self.filled())
  }

  @Test("a position that is imported is a quiet write")
  func quiet() throws {
    let bytes = try Self.filled().library("books").exportFile(format: UserDefaultsFormat())
    let copy = try FavoritesStore.inMemory()
    try copy.take(bytes, UserDefaultsFormat(), into: "books")
    let positions = try copy.positionEvents().values.flatMap { $0 }
    #expect(positions.count == 4 && positions.allSatisfy(\.isQuiet))
  }

  @Test("the app's array is what its decoder takes: paths, seconds since 2001, ids in capitals")
  func appForm() throws {
    let store = try FavoritesStore.inMemory()
    let id = try #require(UUID(uuidString: "6f9619ff-8b86-d011-b42d-00c04fc964ff"))
    try Self.add(
      Book(
        id: id, title: "Dune", fileURL: URL(filePath: "/books/Dune 1.m4b"), duration: 75_600.5,
        currentPosition: 12.5,
        dateAdded: Date(timeIntervalSinceReferenceDate: 730_987_200.25),
        associatedFiles: [URL(filePath: "/books/Dune.cue")]),
      to: store)
    let file = try String(
      decoding: store.library("books").exportFile(format: UserDefaultsFormat()), as: UTF8.self)
    #expect(
      file == """
        [
        {"id":"6F9619FF-8B86-D011-B42D-00C04FC964FF","title":"Dune","duration":75600.5,"currentPosition":12.5,\
        "fileURLString":"","isDownloaded":false,"dateAdded":730987200.25}
        ]

        """)
  }

  /// A book as the app decodes it: each of these must be there.
  private struct AppBook: Decodable {
    let id: UUID
    let title, fileURLString: String
    let duration, currentPosition: TimeInterval
    let dateAdded: Date
    let isDownloaded: Bool
  }

  @Test("the app's array: the app reads every book of an export, and the address of its audio comes back")
  func readByTheApp() throws {
    let store = try FavoritesStore.inMemory()
    for (number, address) in ["https://a.example/x.zip", nil, "file:///b.m4b"].enumerated() {
      let id = UUID()
      let book = Book(
        id: id, title: "T\(number)", fileURL: address.flatMap { URL(string: $0) }, dateAdded: .distantPast)
      try Self.add(book, to: store)
    }
    let file = try store.library("books").exportFile(format: UserDefaultsFormat())
    let books = try JSONDecoder().decode([AppBook].self, from: Data(file))
    #expect(books.map(\.fileURLString).sorted() == ["", "", "https://a.example/x.zip"])
    let copy = try FavoritesStore.inMemory()
    try copy.take(file, UserDefaultsFormat(), into: "books")
    let library = try copy.library("books")
    #expect(
      library.favorites().compactMap { $0.value(of: "downloadURL") } == [.string("https://a.example/x.zip")])
    // As the app has a cover that is not a file.
    let cover =
      #"[{"id":"\#(UUID())","title":"C","dateAdded":0,"coverImageURLString":"https://a.example/c.jpg","pages":7}]"#
    let report = try copy.take(cover, UserDefaultsFormat(), into: "books")
    #expect(report.remarks.map(\.reason) == [#""pages" is not known, and was left out of 1 record"#])
    #expect(
      library.favorites().contains { $0.value(of: "coverImageURL") == .string("https://a.example/c.jpg") })
  }

  @Test(
    "the app's array: a date comes back to the millisecond, on whichever side of it its double lies",
    arguments: [543_378_820_359, 539_133_602_412, 545_055_042_726, 730_987_200_250])
  func dates(millisecondsSince2001: Milliseconds) throws {
    let (from, to) = (try FavoritesStore.inMemory(), try FavoritesStore.inMemory())
    let (library, id) = (try from.library("books"), UUID().favoriteID)
    let date = millisecondsSince2001 + 978_307_200_000
    try library.add(id, fields: [Field(name: "title", value: .string("T"))], favoritedDate: date)
    try to.take(library.exportFile(format: UserDefaultsFormat()), UserDefaultsFormat(), into: "books")
    #expect(try to.library("books").item(id)?.favoritedDate == date)
  }

  @Test("the app's array: one bad record is reported, the rest imported")
  func badRecords() throws {
    let sound = #""title":"T","fileURL":"/t.m4b","dateAdded":730987200"#
    func id(_ number: Int) -> String { "\"id\":\"00000000-0000-0000-0000-0000000000\(10 + number)\"" }
    let text = """
      [{\(id(0)),\(sound),"duration":100,"currentPosition":12},
      {\(id(1)),\(sound),"duration":NaN},
      {\(id(2)),\(sound),"duration":1e400},
      {\(id(3)),\(sound),"duration":-1},
      {\(id(4)),\(sound),"currentPosition":"12"},
      {\(id(5)),"title":"T","fileURL":"/t.m4b"},
      {\(id(6)),"title":"T","fileURL":"/t.m4b","dateAdded":1e300},
      {\(id(7)),"fileURL":"/t.m4b","dateAdded":0},
      {"id":"bad",\(sound)},
      {\(id(8)),\(sound),"associatedFiles":[1]},
      "book", null, {},
      {\(id(9)),\(sound),"title":"again"},
      {\(id(10)),\(sound),"isDownloaded":"yes"},
      {\(id(11)),\(sound),"duration":100,"currentPosition":101,"author":null,"coverImageURL":null}]
      """
    let store = try FavoritesStore.inMemory()
    let report = try store.take(text, UserDefaultsFormat(), into: "books")
    #expect(
      report.refusals.map(\.line) == [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 11, 12, 13])
    let reasons = report.refusals.map(\.reason)
    #expect(reasons[2] == #"field "duration": -1 seconds, which must be 0 or more"#)
    #expect(reasons[3] == #"field "currentPosition": a string where a number should be"#)
    #expect(reasons[4] == #"field "dateAdded": it is missing"# && reasons[5].contains("0000 to 9999"))
    let books = try BookLibrary(store).loadBooks()
    #expect(books.count == 2 && books.map(\.currentPosition).sorted() == [12, 100])
    #expect(books[0].dateAdded == Date(timeIntervalSinceReferenceDate: 730_987_200))
    #expect(throws: LibraryError.self) {
      try store.take(#"{"books":1}"#, UserDefaultsFormat(), into: "books")
    }
  }

  @Test("settings come back one by one, with the current book and what else is set")
  func settings() throws {
    let store = try FavoritesStore.inMemory()
    let library = try BookLibrary(store)
    var settings = PlaybackSettings()
    settings.playbackSpeed = 1.25
    try library.saveSettings(settings)
    let raw = try store.library("settings")
    try raw.set([Field(name: "currentBookID", value: .string(UUID().favoriteID))], of: "player")
    try raw.set([Field(name: "recent/lisboa", value: .int64(1_772_438_400_000))], of: "city-search")
    try raw.set([Field(name: "theme", value: .string("dark"))], of: "playback")
    try checkRoundTrip(of: "settings", as: UserDefaultsFormat(), from: store)
    try checkRoundTrip(of: "settings", as: CSVFormat(), from: store)
  }

  @Test("a setting that is none, or out of its range, is refused alone")
  func badSettings() throws {
    let store = try FavoritesStore.inMemory()
    let text = """
      {"playbackSpeed": 3,
       "skipForwardInterval": 45, "simulateChapters": "yes",
       "skipBackwardInterval": -1,
       "volume": 11,
       "skipForwardInterval": 60,
       "currentBookID": "6F9619FF-8B86-D011-B42D-00C04FC964FF"}
      """
    let report = try store.take(text, UserDefaultsFormat(), into: "settings")
    #expect(
      refusals(report) == [
        "1: playbackSpeed is 3, which must be 0.5 to 2", "2: simulateChapters is a string, not true or false",
        "3: skipBackwardInterval is -1, which must be 0 or more", "4: \"volume\" is not a setting of the app",
        "5: skipForwardInterval is in the settings twice",
      ])
    let library = try BookLibrary(store)
    #expect(library.loadSettings().skipForwardInterval == 45 && library.loadSettings().playbackSpeed == 1)
    #expect(
      try store.library("settings").item("player")?.value(of: "currentBookID")
        == .string("6f9619ff-8b86-d011-b42d-00c04fc964ff"))
  }

  @Test("LibriVox: its books are taken, its errors told, and importing again writes nothing", .needsRealData)
  func libriVox() throws {
    let store = try FavoritesStore.inMemory()
    let bytes = try RealData.bytes("books/librivox-5.json")
    #expect(FileFormats.standard.guess(bytes, name: nil, for: "books")?.name == "librivox")
    #expect(try store.take(bytes, LibriVoxFormat(), into: "books").added == 5)
    #expect(try store.take(bytes, LibriVoxFormat(), into: "books").events == 0)
    #expect(
      try BookLibrary(store).loadBooks().contains {
        $0.title == "Count of Monte Cristo" && $0.duration == 178_995
      })
    let report = try store.take(
      "{\"books\":[\n{\"id\":\"1\"},\n{\"id\":\"2\",\"title\":\"T\",\"url_zip_file\":\"https://x/y.zip\",\"totaltimesecs\":-5}]}",
      LibriVoxFormat(), into: "books")
    #expect(report.refusals.map(\.line) == [2, 3])
    #expect(throws: LibraryError.invalidAnswer("LibriVox answers: \"Audiobooks could not be found\"")) {
      try store.take(#"{"error":"Audiobooks could not be found"}"#, LibriVoxFormat(), into: "books")
    }
  }

  @Test("a table of books: wrong values are refused, a position is brought into its duration")
  func table() throws {
    let store = try FavoritesStore.inMemory()
    let report = try store.take(
      """
      ID,Title,FileURL,Duration,CurrentPosition,IsDownloaded,DateAdded
      6F9619FF-8B86-D011-B42D-00C04FC964FF,Dune,file:///dune.m4b,100,120,YES,2024-03-01T12:00:00Z
      00000000-0000-0000-0000-000000000001,A,file:///a.m4b,-1,0,no,
      00000000-0000-0000-0000-000000000002,A,file:///a.m4b,1,0,maybe,
      3,A,file:///a.m4b,1,0,no,
      00000000-0000-0000-0000-000000000004,B,https://example.org/b.zip,1,-1,no,2024-03-01T12:00:00Z

      """, CSVFormat(), into: "books")
    #expect(
      refusals(report) == [
        "3: duration is -1, which must be 0 or more", "4: isDownloaded is neither true nor false: \"maybe\"",
        "5: \"3\" is not the id of a book, which is a UUID",
      ])
    // So is what the store holds, and an address is that of the audio on every device.
    let stored = try store.stored("books")
    #expect(stored.compactMap { $0.value(of: "currentPosition") } == [.int64(0), .int64(100)])
    #expect(stored.map { $0.value(of: "downloadURL")?.text } == ["https://example.org/b.zip", nil])
    let book = try #require(BookLibrary(store).loadBooks().first { $0.title == "Dune" })
    #expect(
      book.currentPosition == 100 && !book.isDownloaded && book.fileURL == nil
        && book.dateAdded.timeIntervalSince1970 == 1_709_294_400)
  }
}
