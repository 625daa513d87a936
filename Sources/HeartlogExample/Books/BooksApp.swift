import Foundation
import Heartlog
import HeartlogLibraries

/// An audiobook player: the books, the current one with its position and chapters, and the settings.
@MainActor final class BooksApp: App {
  let name = "books"
  var query = ""
  private let library: BookLibrary
  private let clock: @Sendable () -> Milliseconds
  private let offered: [Book]
  /// Since when the current book plays, as far as it was reported; nil while it does not.
  private var playingSince: Milliseconds?
  private static let playerPane = 2

  init(_ store: FavoritesStore, clock: @escaping @Sendable () -> Milliseconds) throws {
    library = try BookLibrary(store, clock: clock)
    self.clock = clock
    offered = try Book.books(
      libriVox: Service.json("api/books-librivox.json"), dateAdded: Date(milliseconds: clock())
    ).books
  }

  private var current: Book? {
    guard let id = library.loadCurrentBookID(), var book = try? library.books.item(id) else { return nil }
    book.currentPosition = library.loadPosition(for: id)
    return book
  }

  var panes: [Pane] {
    let settings = library.loadSettings()
    let book = current
    let chapters = book?.chapters(settings) ?? []
    let chapter = book.flatMap { chapters.index(at: $0.currentPosition) }
    return [
      Pane(
        title: "Favorites", rows: library.loadBooks().map(playable).matching(query),
        placeholder: "No books yet: space on one of LibriVox adds it.", keys: "p play/pause  , . skip  ⏎ open"
      ),
      Pane(title: "LibriVox", rows: offered.map { row($0) }.matching(query)),
      Pane(
        title: "Player",
        rows: (book.map { [player($0)] } ?? [])
          + chapters.enumerated().map { index, part in
            Row(text: "  \(index == chapter ? "♪" : " ") \(part.title)", trailing: part.startTime.time) {
              [weak self] in
              try self?.report(part.startTime)
              return .message(part.title)
            }
          }, placeholder: "Nothing is played: p on a book plays it.",
        keys: "p play/pause  , . skip  ⏎ jump"),
      Pane(
        title: "Settings",
        rows: Self.settings.map { setting in
          Row(
            text: setting.name, trailing: "\(settings[keyPath: setting.value])",
            keys: [
              "+": change { $0[keyPath: setting.value] += setting.step },
              "-": change { $0[keyPath: setting.value] -= setting.step },
            ])
        } + [
          Row(
            text: "Simulate chapters", trailing: settings.simulateChapters ? "yes" : "no",
            open: change { $0.simulateChapters.toggle() })
        ],
        keys: "+ - change  ⏎ switch"),
    ]
  }

  private func row(_ book: Book) -> Row {
    let isAdded = library.books.contains(book.id)
    return Row(
      item: ItemReference(library: library.books.library, id: book.id.favoriteID), heart: isAdded,
      text: [book.title, book.author].compactMap { $0 }.joined(separator: " — "),
      trailing: isAdded && book.currentPosition > 0
        ? "\(book.currentPosition.time) of \(book.duration.time)" : book.duration.time)
  }

  /// A row of a book that can be played.
  private func playable(_ book: Book) -> Row {
    var row = row(book)
    row.keys["p"] = { [weak self] in
      if self?.current?.id != book.id {
        try self?.library.saveCurrentBookID(book.id)
        self?.playingSince = nil
      }
      try self?.playOrPause()
      return .pane(Self.playerPane)
    }
    return row
  }

  private func player(_ book: Book) -> Row {
    let bar = String(repeating: "━", count: Int(book.progress * 20)).padding(
      toLength: 20, withPad: "─", startingAt: 0)
    return Row(
      text: "\(playingSince == nil ? "Paused" : "Playing")  \(book.title)",
      trailing: "\(book.currentPosition.time)  \(bar)  \(book.duration.time)")
  }

  // MARK: - The books

  func toggle(_ row: Row) throws {
    guard let id = row.item.flatMap({ Book.ID(favoriteID: $0.id) }) else { return }
    if library.books.contains(id) {
      if library.loadCurrentBookID() == id { playingSince = nil }
      try library.deleteBook(id)
    } else if var book = try offered.first(where: { $0.id == id }) ?? library.books.item(id) {
      book.dateAdded = Date(milliseconds: clock())
      try library.saveBooks(library.loadBooks() + [book])
    }
  }

  func finishWriting() async throws { try library.flush() }

  func detail(of row: Row) throws -> [String] {
    guard let id = row.item.flatMap({ Book.ID(favoriteID: $0.id) }) else { return [] }
    guard let book = try offered.first(where: { $0.id == id }) ?? library.books.item(id) else { return [] }
    return [
      (book.fileURL ?? book.downloadURL)?.absoluteString ?? "not on this device",
      "\(book.duration.time), played to \(library.loadPosition(for: id).time)",
    ]
  }

  // MARK: - Playing

  func press(_ key: Character) throws -> String? {
    guard let book = current else { return nil }
    let settings = library.loadSettings()
    switch key {
    case "p":
      try playOrPause()
      return ""
    case ".": try report(book.currentPosition + settings.skipForwardInterval)
    case ",": try report(book.currentPosition - settings.skipBackwardInterval)
    default: return nil
    }
    return library.loadPosition(for: book.id).time
  }

  private func playOrPause() throws {
    playingSince = playingSince == nil ? clock() : nil
    try asPlayer { try library.flush() }
  }

  /// Reports the position of a player as often as it likes: the library writes it every five seconds.
  func tick() throws {
    guard let since = playingSince, let book = current else { return }
    let now = clock()
    playingSince = now
    let seconds = Double(now - since) / 1_000 * library.loadSettings().playbackSpeed
    try asPlayer { try library.savePosition(for: book.id, position: book.currentPosition + seconds) }
  }

  /// Goes to a position, which is written at once.
  private func report(_ position: Double) throws {
    guard let book = current else { return }
    try asPlayer {
      try library.savePosition(for: book.id, position: position)
      try library.flush()
    }
  }

  /// Positions have an origin of their own: they are no action that `u` undoes.
  private func asPlayer(_ body: () throws -> Void) throws {
    try library.store.write(origin: "\(Device.origin):player") { try body() }
  }

  // MARK: - Settings

  private static let settings:
    [(name: String, value: WritableKeyPath<PlaybackSettings, Double>, step: Double)] = [
      ("Speed", \.playbackSpeed, 0.25), ("Skip forward, seconds", \.skipForwardInterval, 5),
      ("Skip backward, seconds", \.skipBackwardInterval, 5),
      ("Length of a simulated chapter, seconds", \.simulatedChapterLength, 300),
      ("Rewind after an interruption, seconds", \.rewindAfterInterruption, 1),
    ]

  private func change(_ change: @escaping (inout PlaybackSettings) -> Void) -> Row.Action {
    { [library] in
      var settings = library.loadSettings()
      change(&settings)
      // Throws if one is out of its range, and then writes nothing.
      try library.saveSettings(settings)
      return .message("Saved.")
    }
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
