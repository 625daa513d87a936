import Foundation
import Heartlog
import HeartlogFormat
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("books: what the app keeps and LibriVox sends becomes a Book")
struct BookTests {
  let date = Date(timeIntervalSince1970: 1_709_294_400)

  @Test("the records of LibriVox survive the store, and are the same books each time", .needsRealData)
  func libriVox() throws {
    let answer = try RealData.json("books/librivox-5.json")
    func read() throws -> [Book] {
      try (answer["books"]?.array ?? []).map { try Book(libriVox: $0, dateAdded: date) }
    }
    let books = try read()
    #expect(books.count == 5 && Set(books.map(\.id)).count == 5)
    #expect(books[0].title == "Count of Monte Cristo" && books[0].author == "Alexandre Dumas")
    #expect(books[0].duration == 178_995 && !books[0].isDownloaded)
    #expect(try read() == books)
    for book in books { #expect(try stored(book, isFavorite: true, favoritedDate: date) == book) }
  }

  @Test("a derived id is a UUID of version 8, and the same on every device and in every release")
  func derivedIDs() throws {
    let library = try BookShelf().library
    let file = URL(filePath: "/Dune.m4b")
    let record = #"{"id":"52","title":"T","url_zip_file":"https://x/y.zip"}"#
    let ids = [
      try library.importBook(from: file, fingerprint: "a").id,
      try library.importBookFromGoogleDriveM4B(m4bFileID: "file-1", folderID: "f", fileURL: file).id,
      try Book(libriVox: record, dateAdded: date).id,
    ]
    #expect(
      ids.map(\.favoriteID) == [
        "4ad84242-2f34-87ab-89a5-1fe36f271e46", "ebaa8829-9855-8d61-b513-1db1d670178f",
        "55977b97-c45d-8f32-acb1-7625f291f88e",
      ])
  }

  /// As JSONEncoder writes the app's type.
  static let appRecords = #"""
    [{"id":"6F9619FF-8B86-D011-B42D-00C04FC964FF","title":"Dune","author":"Frank Herbert",
      "fileURL":"file:///books/Dune%201.m4b","coverImageURL":"/covers/dune.jpg","duration":75600.5,
      "currentPosition":99999,"dateAdded":730987200,"isDownloaded":true,"googleDriveFileID":"g1",
      "associatedFiles":["file:///books/Dune.cue"]},
     {"id":"bad","title":"Lost"},
     {"id":"00000000-0000-0000-0000-000000000001","title":"Short","fileURL":"/books/Short.m4b",
      "dateAdded":"2024-03-01T12:00:00Z"},
     {"id":"00000000-0000-0000-0000-000000000002","title":"Bad","fileURL":"/books/Bad.m4b",
      "dateAdded":"2024-03-01T12:00:00Z","duration":-1}]
    """#

  @Test("the app's array: one bad book is reported, the others load")
  func appRecords() throws {
    let records = try #require(JSONValue.parse(Self.appRecords).array)
    let read = records.map { try? Book(appRecord: $0) }
    #expect(read.map { $0?.title } == ["Dune", nil, "Short", nil])
    let books = read.compactMap { $0 }
    let dune = books[0]
    #expect(dune.dateAdded == date && dune.currentPosition == 75_600.5 && dune.duration == 75_600.5)
    #expect(dune.coverImageURL?.path == "/covers/dune.jpg" && dune.associatedFiles.count == 1)
    #expect(books[1].duration == 0 && books[1].isDownloaded)
    for book in books { #expect(try stored(book, isFavorite: true, favoritedDate: date) == book) }
    let shelf = try BookShelf()
    let report = try shelf.library.migrate(books: Self.appRecords)
    #expect(report.count == 2 && report.failures.map { "\($0)".prefix(8) } == ["record 2", "record 4"])
    #expect(throws: LibraryError.self) { try shelf.library.migrate(books: JSONValue.object([])) }
  }

  @Test("fields are flat, and what is missing takes its default")
  func fields() throws {
    let book = try Book(appRecord: #require(JSONValue.parse(Self.appRecords).array?.first))
    #expect(
      try FieldEncoder.fields(of: book).map(\.name) == [
        "associatedFiles", "author", "coverFileURL", "coverImageURL", "coverSearch", "currentPosition",
        "downloadURL", "duration", "fileURL", "googleDriveFileID", "isDownloaded", "title",
      ])
    let fields = [
      Field(name: "downloadURL", value: .string("https://example.org/a.m4b")),
      Field(name: "title", value: .string("A")),
    ]
    let sparse = try FieldDecoder.decode(
      Book.self, id: book.id.favoriteID, isFavorite: true, favoritedDate: 1_000, fields: fields)
    #expect(
      sparse.currentPosition == 0 && sparse.dateAdded == Date(timeIntervalSince1970: 1)
        && !sparse.isDownloaded)
  }

  @Test("the app's own JSON decodes as a Book: dateAdded, and files as URLs or as bare paths")
  func appJSON() throws {
    func record(_ members: String) -> Data {
      Data(#"{"id":"6F9619FF-8B86-D011-B42D-00C04FC964FF","title":"Dune",\#(members)}"#.utf8)
    }
    let decoder = JSONDecoder()
    let dune = try decoder.decode(
      Book.self,
      from: record(
        #""fileURL":"/books/Dune 1.m4b","duration":60,"currentPosition":99,"dateAdded":730987200,"associatedFiles":["file:///a.cue"]"#
      ))
    #expect(dune.fileURL?.path == "/books/Dune 1.m4b" && dune.isDownloaded)
    #expect(
      dune.dateAdded == date && dune.currentPosition == 60 && dune.associatedFiles.map(\.path) == ["/a.cue"])
    #expect(try decoder.decode(Book.self, from: JSONEncoder().encode(dune)) == dune)
    // A reader of records takes the same.
    #expect(throws: LibraryError.invalidItem(#"field "dateAdded": it is missing"#)) {
      try Book(appRecord: record(#""fileURL":"/a.m4b""#))
    }
    // A date that is missing is named, and never made up.
    let error = #expect(throws: DecodingError.self) {
      try decoder.decode(Book.self, from: record(#""fileURL":"/a.m4b""#))
    }
    #expect(String(describing: error).contains("dateAdded"))
    #expect(throws: DecodingError.self) {
      try decoder.decode(Book.self, from: record(#""fileURL":"","dateAdded":0"#))
    }
  }
}

@Suite("settings: how books are played")
struct PlaybackSettingsTests {
  func decode(_ fields: [Field]) throws -> PlaybackSettings {
    try FieldDecoder.decode(
      PlaybackSettings.self, id: PlaybackSettings.item, isFavorite: false, favoritedDate: nil, fields: fields)
  }

  @Test("a missing setting takes its default, and the others stay")
  func defaults() throws {
    #expect(try decode([]) == PlaybackSettings())
    let settings = try decode([
      Field(name: "playbackSpeed", value: .double(1.5)), Field(name: "simulateChapters", value: .null),
    ])
    var expected = PlaybackSettings()
    expected.playbackSpeed = 1.5
    #expect(settings == expected)
    #expect(try stored(settings) == settings)
    #expect(try FieldEncoder.fields(of: settings).count == 6)
    #expect(PlaybackSettings.library == "settings" && settings.id.favoriteID == "playback")
  }

  @Test("what is out of its range comes neither in nor out")
  func ranges() throws {
    for speed in [0.49, 2.01, 0, -1, .nan, .infinity] {
      var settings = PlaybackSettings()
      settings.playbackSpeed = speed
      #expect(throws: LibraryError.self) { try settings.validate() }
      #expect(throws: FieldCodingError.self) { try FieldEncoder.fields(of: settings) }
    }
    for path in [
      \PlaybackSettings.skipForwardInterval, \.skipBackwardInterval, \.simulatedChapterLength,
      \.rewindAfterInterruption,
    ] {
      for seconds in [-1, .nan, .infinity] {
        var settings = PlaybackSettings()
        settings[keyPath: path] = seconds
        #expect(throws: LibraryError.self) { try settings.validate() }
      }
    }
    #expect(throws: FieldCodingError.self) { try decode([Field(name: "playbackSpeed", value: .int64(3))]) }
  }

  @Test(
    "chapters cover the book, the last with what remains",
    arguments: [(2_000.0, 900.0, 3), (1_800, 900, 2), (1, 900, 1), (0.1 * 3, 0.1, 3)])
  func chapters(duration: Double, length: Double, count: Int) {
    var settings = PlaybackSettings()
    settings.simulatedChapterLength = length
    let chapters = settings.chapters(duration: duration)
    #expect(chapters.count == count && chapters.allSatisfy { $0.duration > 0 })
    #expect(chapters.first?.startTime == 0 && chapters.last?.endTime == duration)
    for (chapter, next) in zip(chapters, chapters.dropFirst()) {
      #expect(chapters.chapter(at: next.startTime) == next)
      #expect(chapters.chapter(at: next.startTime.nextDown) == chapter)
    }
    #expect(chapters.chapter(at: duration * 2) == chapters.last)
  }

  @Test("one chapter where there is nothing to cut")
  func oneChapter() {
    var settings = PlaybackSettings()
    let one = { (duration: Double) in [Chapter(title: "Chapter 1", startTime: 0, duration: duration)] }
    for duration in [0, -1, 1e300, .infinity] {
      #expect(settings.chapters(duration: duration) == one(duration))
    }
    settings.simulatedChapterLength = 0
    #expect(settings.chapters(duration: 5) == one(5))
    settings.simulatedChapterLength = 1
    settings.simulateChapters = false
    #expect(settings.chapters(duration: 5) == one(5))
  }
}
