import Foundation
import HeartlogLibraries
import Testing

@testable import Heartlog

@Suite("books: saving and loading the library")
struct BookSavingTests {
  private let app: BookShelf
  private var library: BookLibrary { app.library }
  init() throws { app = try BookShelf() }

  @Test("saveBooks records only the differences, in one commit, and none where there are none")
  func differences() throws {
    var books = [book(1), book(2), book(3)]
    let report = try library.saveBooks(books)
    #expect(report.added == books.map(\.id) && app.commitCount == 1)
    try library.saveBooks(books)
    #expect(app.commitCount == 1)
    books[1].title = "Renamed"
    books[1].author = "Somebody"
    books.remove(at: 0)
    books.append(book(4))
    let second = try library.saveBooks(books)
    #expect(app.commitCount == 2 && second.added == [book(4).id] && second.changed == [book(2).id])
    #expect(second.deleted.map(\.id) == [book(1).id] && second.rejected.isEmpty)
    let log = try app.store.readLog()
    _ = try log.next()
    let renamed = try #require(
      try log.next()?.records.compactMap(\.event).first { $0.item == book(2).id.favoriteID })
    #expect(renamed.fields.map(\.name) == ["author", "title"])
    books[0].author = nil
    try library.saveBooks(books)
    #expect(try app.another().loadBooks() == books)
  }

  @Test(
    "a stale array never deletes a book that another device added meanwhile, nor brings back one that it deleted"
  )
  func staleArray() throws {
    try library.saveBooks([book(1), book(2), book(3)])
    let stale = library.loadBooks()
    let other = try app.another()
    var theirs = other.loadBooks()
    theirs.removeFirst()
    theirs[0].title = "Theirs"
    try other.saveBooks(theirs + [book(4)])
    var mine = stale
    // Of what the other one deleted, and of what it renamed, something else is changed here.
    mine[0].author = "Nobody"
    mine[1].author = "Somebody"
    mine[2].title = "Mine"
    mine.append(book(5))
    try library.saveBooks(mine)
    let saved = try app.another().loadBooks()
    #expect(saved.map(\.title) == ["Theirs", "Mine", "Book 4", "Book 5"])
    #expect(saved.map(\.author) == ["Somebody", nil, nil, nil])
    // Saved once more as it was, it still takes nothing away.
    try library.saveBooks(mine)
    #expect(library.loadBooks().map(\.id) == [2, 3, 4, 5].map { book($0).id })
  }

  @Test("a position that is all that differs in an array is saved")
  func positionOfArray() throws {
    var books = [book(1), book(2)]
    try library.saveBooks(books)
    books[1].currentPosition = 20
    try library.saveBooks(books)
    #expect(try app.another().loadPosition(for: book(2).id) == 20 && app.commitCount == 2)
    books[1].currentPosition = 4_000
    try library.saveBooks(books)
    #expect(library.loadBooks().map(\.currentPosition) == [0, 3_600])
  }

  @Test("a stale position never overwrites a newer one")
  func stalePosition() throws {
    try library.saveBooks([book(1, position: 10)])
    var mine = library.loadBooks()
    let other = try app.another()
    try other.savePosition(for: book(1).id, position: 500)
    try other.flush()
    mine[0].title = "Renamed"
    try library.saveBooks(mine)
    try app.another().saveBooks([book(1)])
    #expect(library.loadPosition(for: book(1).id) == 500)
  }

  @Test("one bad book never empties the library: it is reported, the others load, and saving them keeps it")
  func badBook() throws {
    try library.saveBooks([book(1), book(2)])
    try app.store.library("books").add(
      "00000000-0000-4000-8000-000000000001", fields: [Field(name: "title", value: .int64(3))])
    try app.store.library("books").add("no uuid")
    let loaded = library.loadBooksAndFailures()
    #expect(loaded.books.map(\.title) == ["Book 1", "Book 2"])
    #expect(Set(loaded.failures.map(\.id)) == ["00000000-0000-4000-8000-000000000001", "no uuid"])
    #expect(loaded.failures.allSatisfy { $0.error.code == .invalidItem })
    #expect(library.loadBooks().count == 2)
    try library.saveBooks([book(1)])
    #expect(app.store.read { $0.isFavorite("no uuid", in: "books") })
    #expect(library.loadBooksAndFailures().failures.count == 2)
  }

  @Test("a bad book in the array is reported, the others are saved, and what the store holds of it stays")
  func badBookInArray() throws {
    try library.saveBooks([book(1), book(2)])
    var bad = book(1, "Worse")
    bad.duration = .nan
    var worse = book(3)
    worse.currentPosition = .infinity
    let report = try library.saveBooks([bad, book(2, "Better"), worse, book(4), book(4, "Twice")])
    #expect(report.rejected.map(\.id) == [1, 3, 4].map { book($0).id } && report.deleted.isEmpty)
    #expect(report.rejected.allSatisfy { $0.error.code == .invalidItem })
    #expect(library.loadBooks().map(\.title) == ["Book 1", "Better", "Book 4"])
  }

  @Test("order is the order of adding, also of books that were added in one moment")
  func order() throws {
    let together = [9, 3, 7, 1, 8].map { book($0) }
    try library.saveBooks(together)
    app.clock.advance(seconds: 1)
    try library.importBook(from: URL(filePath: "/a.m4b"), fingerprint: "a")
    try library.saveBooks(library.loadBooks() + [book(2)])
    #expect(
      library.loadBooks().map(\.title) == ["Book 9", "Book 3", "Book 7", "Book 1", "Book 8", "Book 2", "a"])
  }

  @Test(
    "a date that was loaded is the date that is saved",
    arguments: [242_583_529.104, 7_275_788.818, 1_709_294_400.123])
  func dates(seconds: Double) throws {
    try library.saveBooks([book(1, at: seconds)])
    let loaded = try app.another().loadBooks()
    #expect(loaded == [book(1, at: seconds)])
    try library.saveBooks(loaded)
    #expect(app.commitCount == 1)
  }

  @Test("a book that was deleted and added anew is there again, from its beginning")
  func addedAnew() throws {
    try library.saveBooks([book(1, position: 30)])
    try library.deleteBook(book(1).id)
    app.clock.advance(seconds: 10)
    // The app's array has never been saved in between.
    let anew = book(1, at: Double(app.clock.now) / 1_000)
    let report = try library.saveBooks([anew])
    #expect(report.added == [anew.id] && library.loadBooks() == [anew])
  }

  @Test(
    "importing takes .m4b in any case, and its title is the file name without its extension",
    arguments: ["m4b", "M4B", "m4B"])
  func importCase(ending: String) throws {
    let book = try library.importBook(
      from: URL(filePath: "/x/Vol. 1 – Äpfel [B00].\(ending)"), fingerprint: "b")
    #expect(book.title == "Vol. 1 – Äpfel [B00]" && library.loadBooks() == [book])
  }

  @Test("what is no .m4b file is refused", arguments: ["a.mp3", "m4b", "a.m4b.zip", "a"])
  func importRefused(name: String) throws {
    #expect { try library.importBook(from: URL(filePath: "/x/\(name)")) } throws: { isInvalidItem($0) }
    #expect(app.commitCount == 0)
  }

  @Test("importing the same file again is the same book, here and on another device")
  func importTwice() throws {
    let folder = try TestFolder()
    let file = folder.url.appending(path: "Dune.m4b")
    let copy = folder.url.appending(path: "copy of Dune.m4b")
    for url in [file, copy] { try Data("the sound of it".utf8).write(to: url) }
    var book = try library.importBook(from: file, copiedTo: copy, duration: 100)
    try library.savePosition(for: book.id, position: 40)
    book.currentPosition = 40
    let commits = app.commitCount
    #expect(try library.importBook(from: file, copiedTo: copy) == book)
    #expect(try library.importBook(from: file) == book)
    #expect(app.commitCount == commits && library.loadBooks() == [book])
    #expect(try BookShelf().library.importBook(from: copy).id == book.id)
  }

  @Test("another file at the same path is another book, on one device and on two")
  func importOther() throws {
    let folder = try TestFolder()
    let file = folder.url.appending(path: "1.m4b")
    // They differ in the first byte, in the last one, and in the size.
    var content = [UInt8](repeating: 7, count: 200_000)
    var ids: [Book.ID] = []
    for index in [nil, 0, 199_999] as [Int?] {
      if let index { content[index] ^= 1 }
      try Data(content).write(to: file)
      ids.append(try library.importBook(from: file).id)
    }
    try Data(content + [7]).write(to: file)
    ids.append(try BookShelf().library.importBook(from: file).id)
    #expect(Set(ids).count == 4 && library.loadBooks().map(\.id) == Array(ids.prefix(3)))
    #expect { try library.importBook(from: folder.url.appending(path: "gone.m4b")) } throws: {
      isInvalidItem($0)
    }
  }

  @Test("the fingerprint covers 64 KiB at each end of a file, and nothing between")
  func fingerprint() throws {
    let folder = try TestFolder()
    let file = folder.url.appending(path: "1.m4b")
    func fingerprint(changing index: Int?) throws -> String {
      var content = [UInt8](repeating: 7, count: 200_000)
      if let index { content[index] ^= 1 }
      try Data(content).write(to: file)
      return try Book.fingerprint(of: file)
    }
    let whole = try fingerprint(changing: nil)
    for index in [0, 65_535, 134_464, 199_999] { #expect(try fingerprint(changing: index) != whole) }
    for index in [65_536, 134_463] { #expect(try fingerprint(changing: index) == whole) }
    let address = try #require(URL(string: "https://example.org\(file.path)"))
    #expect { try Book.fingerprint(of: address) } throws: { isInvalidItem($0) }
  }

  @Test("a file whose book the app identified by itself is that book")
  func importOfOwnID() throws {
    let folder = try TestFolder()
    let file = folder.url.appending(path: "own.m4b")
    try Data("own".utf8).write(to: file)
    let own = Book(id: UUID(), title: "Own", fileURL: file, dateAdded: Date(timeIntervalSince1970: 1))
    try library.saveBooks([own])
    #expect(try library.importBook(from: file) == own && app.commitCount == 1)
  }

  @Test("an import that the app's array does not list yet is not deleted by it")
  func importAndStaleArray() throws {
    try library.saveBooks([book(1)])
    let imported = try library.importBook(from: URL(filePath: "/a.m4b"), fingerprint: "a")
    try library.saveBooks([book(1, "Renamed")])
    #expect(library.loadBooks().map(\.id) == [book(1).id, imported.id])
    try library.saveBooks([book(1, "Renamed"), imported])
    try library.saveBooks([imported])
    #expect(library.loadBooks() == [imported])
  }

  @Test("a book that the array leaves out goes with its position and as the current one, in one commit")
  func deletingByArray() throws {
    try library.saveBooks([book(1, position: 70), book(2)])
    try library.saveCurrentBookID(book(1).id)
    let before = app.commitCount
    try library.saveBooks([book(2)])
    #expect(app.commitCount == before + 1)
    #expect(library.loadPosition(for: book(1).id) == 0 && library.loadCurrentBookID() == nil)
    #expect(app.store.read { $0.item("player", in: "settings")?.fields.isEmpty } == true)
  }

  @Test(
    "deleting a book clears currentBookID if it was the current one, and its position with it, all in one commit"
  )
  func deleting() throws {
    try library.saveBooks([book(1, position: 70), book(2, position: 80)])
    try library.saveCurrentBookID(book(1).id)
    let before = app.commitCount
    let moment = app.clock.now
    app.clock.advance(seconds: 1)
    #expect(try library.deleteBook(book(1).id)?.book?.title == "Book 1")
    #expect(app.commitCount == before + 1)
    #expect(library.loadCurrentBookID() == nil && library.loadPosition(for: book(1).id) == 0)
    let state = try #require(app.store.read { $0.item(book(1).id.favoriteID, in: "books") })
    #expect(!state.isFavorite && state.value(of: "currentPosition") == nil)
    // History still shows them.
    let past = try #require(
      try app.store.state(at: .milliseconds(moment)).item(book(1).id.favoriteID, in: "books"))
    #expect(past.isFavorite && past.value(of: "currentPosition") == .int64(70))
    let log = try app.store.readLog()
    var deleting: Commit?
    while let commit = try log.next() { deleting = commit }
    #expect(deleting?.records.compactMap { $0.event?.library } == ["books", "books", "settings"])
    // Another book is not the current one: that stays.
    try library.saveCurrentBookID(book(2).id)
    #expect(try library.deleteBook(book(1).id) == nil)
    #expect(library.loadCurrentBookID() == book(2).id)
  }

  @Test("a book that was deleted elsewhere is not the current one, whatever the field says")
  func currentElsewhere() throws {
    try library.saveBooks([book(1)])
    try library.saveCurrentBookID(book(1).id)
    app.receive(Event(library: "books", item: book(1).id.favoriteID, action: .removed))
    #expect(library.loadCurrentBookID() == nil && library.loadPosition(for: book(1).id) == 0)
    try library.saveCurrentBookID(nil)
    #expect(app.store.read { $0.item("player", in: "settings")?.fields.isEmpty } == true)
  }

  @Test("which files were the book's alone is reported: files on disk are not the store's business")
  func files() throws {
    var first = book(1, files: ["/Books/a.cue", "/Books/x/../shared.nfo", "/Books/a.cue"])
    first.coverImageURL = URL(filePath: "/Covers/1.jpg")
    var second = book(2, files: ["/Books/shared.nfo"])
    second.coverImageURL = URL(string: "https://example.org/2.jpg")
    try library.saveBooks([first, second])
    let report = try library.saveBooks([second])
    #expect(report.deleted[0].files.map(\.path) == ["/Books/1.m4b", "/Covers/1.jpg", "/Books/a.cue"])
    #expect(try library.deleteBook(second.id)?.files.map(\.path) == ["/Books/2.m4b", "/Books/shared.nfo"])
    // Two that go together keep nothing for each other.
    try library.saveBooks(
      [first, second].map { book in
        var book = book
        book.dateAdded += 5
        return book
      })
    #expect(
      try library.saveBooks([]).deleted.flatMap(\.files).contains { $0.lastPathComponent == "shared.nfo" })
  }

  @Test("cover status is part of a book's state, and failed ones can be listed for a retry")
  func covers() throws {
    try library.saveBooks([book(1), book(2), book(3), book(4)])
    let found = URL(filePath: "/Covers/4.jpg")
    try library.saveCoverStatus(.searching, for: book(1).id)
    for number: UInt8 in [2, 3] { try library.saveCoverStatus(.failed, for: book(number).id) }
    try library.saveCoverStatus(.found(found), for: book(4).id)
    #expect(try library.saveCoverStatus(.failed, for: book(99).id) == false)
    let loaded = try app.another().loadBooks()
    #expect(loaded.map(\.coverStatus) == [.searching, .failed, .failed, .found(found)])
    #expect(library.booksWithFailedCovers().map(\.id) == [book(2).id, book(3).id])
    // The app's array, which knows nothing of it, leaves it alone; one that does sets it.
    try library.saveBooks([book(1), book(2), book(3), book(4)])
    #expect(library.booksWithFailedCovers().count == 2)
    try library.saveCoverStatus(.none, for: book(2).id)
    #expect(library.booksWithFailedCovers().map(\.id) == [book(3).id])
    #expect(library.booksWithoutCovers().map(\.id) == [1, 2, 3].map { book($0).id })
    try app.store.library("books").set(
      [Field(name: "coverSearch", value: .string("paused"))], of: book(1).id.favoriteID)
    #expect(library.loadBooks()[0].coverStatus == .none)
  }

  @Test("a library of thousands is saved in commits that the store takes")
  func large() throws {
    let books = (0..<6_000).map { number in
      Book(
        id: UUID(), title: "\(number)", fileURL: URL(filePath: "/\(number).m4b"),
        dateAdded: Date(timeIntervalSince1970: Double(number)))
    }
    #expect(try library.saveBooks(books).added.count == 6_000 && app.commitCount == 2)
    #expect(try library.saveBooks([]).deleted.count == 6_000 && library.loadBooks().isEmpty)
  }
}

func isInvalidItem(_ error: any Error) -> Bool { (error as? HeartlogError)?.code == .invalidItem }
