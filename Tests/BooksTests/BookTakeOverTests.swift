import Foundation
import Heartlog
import HeartlogLibraries
import LibraryTestSupport
import Testing

@Suite("books: taking over the user defaults")
struct BookTakeOverTests {
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

  private func takeOver() throws -> TakeOverReport {
    try shelf.library.takeOver(
      books: books, settings: #"{"playbackSpeed":1.5,"skipForwardInterval":-3,"other":1}"#,
      currentBookID: second.uuidString
    ) { [first: 77, second: .nan][$0] }
  }

  @Test("books take-over: the array, the settings, the current book and the position keys are one commit")
  func everything() throws {
    let report = try takeOver()
    #expect(report.count == 2 && report.failures.count == 2 && shelf.commitCount == 1)
    #expect(report.failures[0] == .invalidItem("record 3: a book without an id"))
    #expect("\(report.failures[1])".contains("skipForwardInterval"))
    let books = shelf.library.loadBooks()
    #expect(books.map(\.title) == ["Dune", "Emma"] && books.map(\.currentPosition) == [77, 20])
    #expect(books.map(\.dateAdded) == [0, 1].map { Date(timeIntervalSinceReferenceDate: $0) })
    let settings = shelf.library.loadSettings()
    #expect(settings.playbackSpeed == 1.5 && settings.skipForwardInterval == 30)
    #expect(shelf.library.loadCurrentBookID() == second)
  }

  @Test("books take-over: a second one changes nothing, and what was done since stays")
  func again() throws {
    _ = try takeOver()
    let digest = shelf.store.digest
    #expect(try takeOver().count == 0 && shelf.store.digest == digest)

    try shelf.library.saveCurrentBookID(nil)
    #expect(try takeOver().count == 0 && shelf.library.loadCurrentBookID() == nil)
    try shelf.library.saveCurrentBookID(second)
    try shelf.library.deleteBook(second)
    var settings = shelf.library.loadSettings()
    settings.playbackSpeed = 2
    try shelf.library.saveSettings(settings)
    try shelf.library.savePosition(for: first, position: 88)
    try shelf.library.flush()
    let later = shelf.store.digest
    // The current book was cleared with the book that was deleted.
    #expect(try takeOver().count == 0 && shelf.store.digest == later)
    #expect(shelf.library.loadCurrentBookID() == nil && shelf.library.loadPosition(for: first) == 88)
  }

  @Test("books take-over: nothing is nothing, and a text of another kind is an error")
  func nothing() throws {
    #expect(try shelf.library.takeOver(books: nil).count == 0 && shelf.commitCount == 0)
    #expect(throws: LibraryError.self) { try shelf.library.takeOver(books: "{}") }
    #expect(throws: LibraryError.self) { try shelf.library.takeOver(books: nil, settings: "[]") }
    #expect(throws: LibraryError.self) { try shelf.library.takeOver(books: "no JSON") }
  }
}
