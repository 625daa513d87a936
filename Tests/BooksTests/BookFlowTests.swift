import Foundation
import Heartlog
import HeartlogLibraries
import Testing

@Suite("books: the flows of the app's document")
struct BookFlowTests {
  private let app: BookShelf
  private var library: BookLibrary { app.library }
  init() throws { app = try BookShelf() }

  @Test("import: the file is copied, measured, its cover searched for, the book appended, the books saved")
  func importFlow() throws {
    var books = library.loadBooks()
    var book = try library.importBook(
      from: URL(filePath: "/Downloads/The Hobbit.M4B"),
      copiedTo: URL(filePath: "/Documents/Books/The Hobbit.M4B"), fingerprint: "hobbit",
      duration: 39_600)
    try library.saveCoverStatus(.searching, for: book.id)
    book.coverStatus = .found(URL(filePath: "/Documents/Covers/\(book.id).jpg"))
    books.append(book)
    try library.saveBooks(books)

    let loaded = try app.another().loadBooks()
    #expect(loaded == [book] && book.title == "The Hobbit" && book.isDownloaded)
    #expect(loaded[0].coverStatus == .found(URL(filePath: "/Documents/Covers/\(book.id).jpg")))
    #expect(book.dateAdded == Date(timeIntervalSince1970: Double(BookClock.start) / 1_000))
  }

  @Test("Google Drive import: the file comes with its related files, and the folder's id")
  func googleDriveImportFlow() throws {
    let folder = URL(filePath: "/Documents/Books/folder-1")
    let book = try library.importBookFromGoogleDriveM4B(
      m4bFileID: "file-1", folderID: "folder-1", fileURL: folder.appending(path: "Dune.m4b"),
      duration: 75_600,
      coverImageURL: folder.appending(path: "cover.jpg"),
      associatedFiles: [folder.appending(path: "Dune.cue"), folder.appending(path: "Dune.nfo")])
    try library.saveBooks(library.loadBooks() + [])
    #expect(try app.another().loadBooks() == [book])
    #expect(book.title == "Dune" && book.googleDriveFileID == "folder-1" && book.isDownloaded)
    #expect(book.cueSheetURL?.lastPathComponent == "Dune.cue" && book.coverStatus != .none)
    // Downloaded anew, elsewhere: the same book.
    let again = try library.importBookFromGoogleDriveM4B(
      m4bFileID: "file-1", folderID: "folder-1", fileURL: URL(filePath: "/tmp/Dune.m4b"))
    #expect(again == book && library.loadBooks().count == 1)
  }

  @Test("playback: the book is current, its chapters are there, and playing goes on where it stopped")
  func playbackFlow() throws {
    try library.saveBooks([book(1)])
    try library.saveCurrentBookID(book(1).id)
    let settings = library.loadSettings()
    let chapters = book(1).chapters(settings)
    #expect(chapters.count == 4 && chapters.last?.endTime == 3_600)
    for second in 0..<1_000 {
      try library.savePosition(for: book(1).id, position: Double(second))
      app.clock.advance(seconds: 1)
    }
    try library.flush()
    let position = try app.another().loadPosition(for: book(1).id)
    #expect(position == 999 && chapters.chapter(at: position)?.title == "Chapter 2")
  }

  @Test("launch: books, settings, the current book and its position are loaded, failed covers tried again")
  func launchFlow() throws {
    try library.saveBooks([book(1), book(2), book(3)])
    var settings = PlaybackSettings()
    settings.playbackSpeed = 1.5
    try library.saveSettings(settings)
    try library.saveCurrentBookID(book(2).id)
    try library.savePosition(for: book(2).id, position: 120)
    try library.saveCoverStatus(.failed, for: book(3).id)
    try library.close()

    let launched = try app.another()
    var books = launched.loadBooks()
    #expect(books.map(\.title) == ["Book 1", "Book 2", "Book 3"])
    #expect(launched.loadSettings() == settings)
    let current = try #require(launched.loadCurrentBookID())
    #expect(current == book(2).id && launched.loadPosition(for: current) == 120)
    #expect(books[1].currentPosition == 120)
    #expect(launched.booksWithFailedCovers().map(\.id) == [book(3).id])
    #expect(launched.booksWithoutCovers().count == 3)
    books[2].coverStatus = .found(URL(filePath: "/Covers/3.jpg"))
    try launched.saveBooks(books)
    #expect(launched.booksWithFailedCovers().isEmpty)
    #expect(try app.another().loadBooks()[2].coverImageURL == URL(filePath: "/Covers/3.jpg"))
  }

  @Test(
    "position tracking: each tick updates the current book, the books and the persistence, which writes now and then"
  )
  func positionTrackingFlow() throws {
    var books = [book(1), book(2)]
    try library.saveBooks(books)
    try library.saveCurrentBookID(books[0].id)
    let before = app.commitCount
    for tick in 1...600 {
      app.clock.advance(seconds: 0.1)
      let time = Double(tick) / 10
      // As the app does it: the time goes into the array, which is saved whole, and to the persistence.
      books[0].currentPosition = time
      try library.saveBooks(books)
      try library.savePosition(for: books[0].id, position: time)
      #expect(library.loadPosition(for: books[0].id) == time)
    }
    #expect(app.commitCount - before == 12)
    try library.flush()
    #expect(try app.another().loadBooks().map(\.currentPosition) == [60, 0])
  }

  @Test("selection: the saved position is loaded, the book becomes current, playing starts from there")
  func selectionFlow() throws {
    try library.saveBooks([book(1, position: 100), book(2, position: 200)])
    try library.saveCurrentBookID(book(1).id)
    try library.savePosition(for: book(1).id, position: 101)
    try library.savePosition(for: book(1).id, position: 102)
    // The other book is tapped: the player stops, loads, and says 0 for the one or the other before and after the change.
    #expect(library.loadPosition(for: book(2).id) == 200)
    try library.savePosition(for: book(1).id, position: 0)
    try library.savePosition(for: book(2).id, position: 0)
    try library.saveCurrentBookID(book(2).id)
    try library.savePosition(for: book(2).id, position: 0)
    try library.flush()
    try library.savePosition(for: book(2).id, position: 200.1)
    try library.flush()
    let other = try app.another()
    #expect(other.loadPosition(for: book(1).id) == 102 && other.loadPosition(for: book(2).id) == 200.1)
  }

  @Test("deletion: the book goes with its position, the player has none, and its files are named")
  func deletionFlow() throws {
    var books = [
      book(1, files: ["/Books/1.cue", "/Books/shared.jpg"]), book(2, files: ["/Books/shared.jpg"]),
    ]
    try library.saveBooks(books)
    try library.saveCurrentBookID(books[0].id)
    try library.savePosition(for: books[0].id, position: 50)
    let deleted = try #require(try library.deleteBook(books[0].id))
    #expect(deleted.files.map(\.path) == ["/Books/1.m4b", "/Books/1.cue"])
    let gone = books.removeFirst()
    try library.saveBooks(books)
    #expect(library.loadBooks().map(\.title) == ["Book 2"] && library.loadCurrentBookID() == nil)
    // The player's last tick comes late, and brings nothing back.
    #expect(try !library.savePosition(for: gone.id, position: 51))
    try library.flush()
    #expect(library.loadPosition(for: gone.id) == 0)
  }
}
