import Heartlog
import HeartlogLibraries

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Importing, playing with a saved position, settings, covers, a relaunch, and the deletion of a book.
enum BooksStory: Story {
  static let name = "books"

  static func play(on device: Device, _ display: Display) async throws {
    display.app(name, "an audiobook player")
    let clock = device.clock
    let store = try device.launch(name)
    var player = try BookPlayer(store) { clock.milliseconds }
    display.step("Launched")
    display.library(player)

    display.step("Two books of LibriVox, and a file from the document picker: chosen twice, it is one book")
    try player.add(
      Array(
        Book.books(libriVox: Service.json("api/books-librivox.json"), dateAdded: clock.now).books.prefix(2)))
    clock.advance(by: 60)
    for _ in 1...2 {
      try player.importBook(
        from: URL(filePath: "/Audiobooks/Penguin Island [unabridged].m4b"), fingerprint: "penguin-island",
        duration: 32_671)
    }
    display.library(player)

    display.step(
      "A tap on the second one; it plays for a minute, and its position is reported ten times a second")
    let book = player.books[1]
    let events = store.status(of: Book.library)
    try player.select(book)
    let start = player.currentBook?.currentPosition ?? 0
    for tick in 1...600 {
      clock.advance(by: 0.1)
      try player.report(position: start + Double(tick) / 10)
    }
    try player.pause()
    display.player(player)
    display.screen(
      "Reports and events", ["600 reports, \(store.status(of: Book.library) - events) events in the log"])
    display.library(player)

    display.step("The slider goes to the end of the third book; the second one keeps its position")
    try player.select(player.books[2])
    try player.report(position: 32_600)
    try player.pause()
    display.library(player)

    display.step("Faster, with shorter chapters; and a speed that there is not")
    try player.change { $0.playbackSpeed = 1.5 }
    try player.change { $0.simulatedChapterLength = 600 }
    do {
      try player.change { $0.playbackSpeed = 12 }
    } catch { display.alert("\(error)") }
    display.settings(player)

    display.step("No cover was found for the third book")
    try player.coverSearchFailed(for: player.books[2])

    display.step("Launched again: the book opens where it was left")
    player = try BookPlayer(device.launch(name)) { clock.milliseconds }
    display.library(player)
    try player.select(book)
    display.player(player)
    display.settings(player)
    display.screen("Covers to search for again", player.booksToRetry.map(\.coverSearchTitle))

    display.step("The third book is deleted: its position goes with it")
    let files = try player.delete(player.books[2])
    display.screen("Files that were its alone", files.map(\.path))
    display.library(player)
  }
}

extension FavoritesStore {
  /// The number of events that a library has had.
  fileprivate func status(of library: String) -> UInt64 { read { $0.counts(of: library).events } }
}

extension Book {
  /// One row of the library.
  var row: String {
    "\(title.cut(to: 40)) — \(author ?? "unknown")  \(rowStatus.rawValue), \(currentPosition.time) of \(duration.time)"
  }
}

extension Double {
  /// Seconds as h:mm:ss.
  var time: String {
    let seconds = Int(self)
    func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(seconds / 3600):\(twoDigits(seconds / 60 % 60)):\(twoDigits(seconds % 60))"
  }
}

@MainActor
extension Display {
  fileprivate func library(_ player: BookPlayer) {
    screen("Library", player.books.map(\.row), orElse: "No books yet: import one.")
  }

  fileprivate func player(_ player: BookPlayer) {
    let chapter = player.currentChapter.map { "\($0.title), from \($0.startTime.time)" }
    screen("Player", [player.currentBook?.row, chapter].compactMap { $0 }, orElse: "Nothing is played.")
  }

  fileprivate func settings(_ player: BookPlayer) {
    let settings = player.settings
    screen(
      "Settings",
      [
        "speed \(settings.playbackSpeed), skip \(settings.skipForwardInterval) s, "
          + "chapters of \(settings.simulatedChapterLength.time)"
      ])
  }
}
