import Foundation
import Heartlog
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("books: taking over the user defaults")
struct BookMigrationTests {
  private let shelf: BookShelf
  private let first = UUID(uuid: (1, 0, 0, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))
  private let second = UUID(uuid: (2, 0, 0, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 2))

  init() throws { shelf = try BookShelf() }

  private var books: Data {
    Data(
      """
      [{"id":"\(first.uuidString)","title":"Dune","fileURL":"/books/dune.m4b","duration":100,"currentPosition":10,"dateAdded":0},
       {"id":"\(second.uuidString)","title":"Emma","fileURL":"/books/emma.m4b","duration":100,"currentPosition":20,"dateAdded":1},
       {"title":"no id"}]
      """.utf8)
  }

  private func migrate() throws -> MigrationReport {
    try shelf.library.migrate(
      books: books, settings: #"{"playbackSpeed":1.5,"skipForwardInterval":-3,"other":1}"#,
      currentBookID: second.uuidString
    ) { [first: 77, second: .nan][$0] }
  }

  @Test("books take-over: the array, the settings, the current book and the position keys are one commit")
  func everything() throws {
    let report = try migrate()
    #expect(report.count == 2 && report.failures.count == 3 && shelf.commitCount == 1)
    #expect(report.failures[0] == .invalidItem(#"record 3: field "id": it is missing"#))
    #expect("\(report.failures[1])".contains("skipForwardInterval"))
    #expect("\(report.failures[2])".contains(#""other" is not a setting"#))
    let books = shelf.library.loadBooks()
    #expect(books.map(\.title) == ["Dune", "Emma"] && books.map(\.currentPosition) == [77, 20])
    #expect(books.map(\.dateAdded) == [0, 1].map { Date(timeIntervalSinceReferenceDate: $0) })
    let settings = shelf.library.loadSettings()
    #expect(settings.playbackSpeed == 1.5 && settings.skipForwardInterval == 30)
    #expect(shelf.library.loadCurrentBookID() == second)
  }

  @Test("books take-over: a second one changes nothing, and what was done since stays")
  func again() throws {
    _ = try migrate()
    let digest = shelf.store.digest
    #expect(try migrate().count == 0 && shelf.store.digest == digest)

    try shelf.library.saveCurrentBookID(nil)
    #expect(try migrate().count == 0 && shelf.library.loadCurrentBookID() == nil)
    try shelf.library.saveCurrentBookID(second)
    try shelf.library.deleteBook(second)
    var settings = shelf.library.loadSettings()
    settings.playbackSpeed = 2
    try shelf.library.saveSettings(settings)
    try shelf.library.savePosition(for: first, position: 88)
    try shelf.library.flush()
    let later = shelf.store.digest
    // The current book was cleared with the book that was deleted.
    #expect(try migrate().count == 0 && shelf.store.digest == later)
    #expect(shelf.library.loadCurrentBookID() == nil && shelf.library.loadPosition(for: first) == 88)
  }

  @Test("books take-over: nothing is nothing, and a text of another kind is an error")
  func nothing() throws {
    #expect(try shelf.library.migrate(books: nil).count == 0 && shelf.commitCount == 0)
    #expect(throws: LibraryError.self) { try shelf.library.migrate(books: "{}") }
    #expect(throws: LibraryError.self) { try shelf.library.migrate(books: nil, settings: "[]") }
    #expect(throws: LibraryError.self) { try shelf.library.migrate(books: "no JSON") }
  }

  // MARK: - As the app writes it

  /// What the app has under `saved_books`: the records of two books that were added within one millisecond.
  private var saved: Data {
    Data(
      #"""
      [{"fileURLString":"\/var\/mobile\/Containers\/Documents\/AudioBooks\/Emma 100% [1815].m4b","id":"02000000-0000-8000-8000-000000000002","dateAdded":787654321.12345695,"isDownloaded":true,"associatedFilesStrings":["\/var\/mobile\/Emma.cue","\/var\/mobile\/Émile notes.txt"],"coverImageURLString":"\/var\/mobile\/Covers\/02.jpg","duration":36000.5,"currentPosition":12.25,"title":"Emma [1815]","author":"Jane Austen"},
       {"googleDriveFileID":"1AbC","fileURLString":"\/var\/mobile\/Dune.m4b","id":"01000000-0000-8000-8000-000000000001","dateAdded":787654321.12301003,"isDownloaded":false,"associatedFilesStrings":[],"duration":0,"currentPosition":0,"title":"Dune","later":{"a":1}}]
      """#.utf8)
  }

  /// What it has under `playback_settings`.
  private let savedSettings =
    #"{"simulateChapters":false,"skipForwardInterval":45,"rewindAfterInterruption":5,"sleepTimerDuration":0,"simulatedChapterLength":600,"sleepTimerEnabled":false,"playbackSpeed":1.25,"skipBackwardInterval":15}"#

  private func takeOverSaved(into library: BookLibrary) throws -> MigrationReport {
    let defaults = ["current_position_02000000-0000-8000-8000-000000000002": 345.5]
    return try library.migrate(
      books: saved, settings: savedSettings, currentBookID: "02000000-0000-8000-8000-000000000002"
    ) { defaults["current_position_\($0.uuidString)"] }
  }

  @Test(
    "books take-over: nothing is lost of what the app's encoder writes, and a member that is not known is reported"
  )
  func savedBooks() throws {
    let report = try takeOverSaved(into: shelf.library)
    #expect(report.count == 2)
    #expect(report.failures == [.invalidItem(#""later" is not known, and was left out of 1 record"#)])
    let books = shelf.library.loadBooks()
    // In the order of the array, although the second date is half a millisecond earlier.
    try #require(books.map(\.title) == ["Emma [1815]", "Dune"])
    let emma = books[0]
    #expect(emma.author == "Jane Austen" && emma.duration == 36_000.5 && emma.currentPosition == 345.5)
    #expect(emma.fileURL?.path == "/var/mobile/Containers/Documents/AudioBooks/Emma 100% [1815].m4b")
    #expect(emma.coverImageURL?.path == "/var/mobile/Covers/02.jpg" && emma.coverStatus != .none)
    #expect(emma.associatedFiles.map(\.path) == ["/var/mobile/Emma.cue", "/var/mobile/Émile notes.txt"])
    #expect(emma.isDownloaded && emma.googleDriveFileID == nil)
    #expect(books[1].fileURL?.path == "/var/mobile/Dune.m4b" && !books[1].isDownloaded)
    #expect(books[1].googleDriveFileID == "1AbC" && books[1].coverImageURL == nil)
    #expect(emma.dateAdded.milliseconds == 1_765_961_521_123)

    // Paths and what this device has belong to it.
    let logged = try shelf.store.library("books").item(emma.id.favoriteID)
    #expect(logged.map { Set($0.fields.map(\.name)).isDisjoint(with: Book.localFields) } == true)

    var settings = PlaybackSettings()
    settings.playbackSpeed = 1.25
    (settings.skipForwardInterval, settings.skipBackwardInterval) = (45, 15)
    (settings.simulateChapters, settings.simulatedChapterLength) = (false, 600)
    settings.rewindAfterInterruption = 5
    #expect(shelf.library.loadSettings() == settings && shelf.library.loadCurrentBookID() == emma.id)
    let digest = shelf.store.digest
    #expect(try takeOverSaved(into: shelf.library).count == 0 && shelf.store.digest == digest)
  }

  @Test("books take-over: the app's own array decodes with JSONDecoder, files included")
  func decoder() throws {
    let books = try JSONDecoder().decode([Book].self, from: saved)
    #expect(books.map(\.isDownloaded) == [true, false] && books[1].fileURL?.path == "/var/mobile/Dune.m4b")
    #expect(
      books[0].coverImageURL?.path == "/var/mobile/Covers/02.jpg" && books[0].associatedFiles.count == 2)
    #expect(books[0].fileURL?.lastPathComponent == "Emma 100% [1815].m4b")
  }

  @Test("books take-over: a book that another device has added gets this device's files, once")
  func filesOfAKnownBook() throws {
    let id = try #require(UUID(uuidString: "01000000-0000-8000-8000-000000000001"))
    // As it arrives from another device: without what belongs to one device.
    try shelf.store.library("books").add(
      id.favoriteID,
      fields: [Field(name: "title", value: .string("Dune")), Field(name: "duration", value: .int64(9))])
    #expect(try takeOverSaved(into: shelf.library).count == 1)
    #expect(try shelf.library.books.item(id)?.fileURL?.path == "/var/mobile/Dune.m4b")
    #expect(try shelf.library.books.item(id)?.duration == 9)
    var books = shelf.library.loadBooks()
    let index = try #require(books.firstIndex { $0.id == id })
    books[index].fileURL = nil
    try shelf.library.saveBooks(books)
    _ = try takeOverSaved(into: shelf.library)
    #expect(try shelf.library.books.item(id)?.fileURL == nil)
  }

  @Test(
    "books: an array whose dates differ by microseconds comes back in its order, and a changed title is written"
  )
  func microseconds() throws {
    let start = 1_772_438_400.0
    var books = [3, 1, 2].map { book(UInt8($0), at: start + Double($0) / 1_000_000) }
    try shelf.library.saveBooks(books)
    #expect(shelf.library.loadBooks().map(\.id) == books.map(\.id))
    books[1].title = "Changed"
    #expect(try shelf.library.saveBooks(books).changed == [books[1].id])
    #expect(try shelf.another().loadBooks().map(\.title) == books.map(\.title))
  }
}
