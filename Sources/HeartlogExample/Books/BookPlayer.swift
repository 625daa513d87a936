import Heartlog
import HeartlogLibraries
import Observation

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The view model of an audiobook player: its books, the current book with its position, and the settings.
@MainActor @Observable
final class BookPlayer {
  private(set) var books: [Book] = []
  private(set) var currentBook: Book?
  private(set) var settings: PlaybackSettings

  @ObservationIgnored private let library: BookLibrary

  /// Launches the app: loads the books, the settings, and the current book with its position.
  init(_ store: FavoritesStore, clock: @escaping @Sendable () -> Milliseconds) throws {
    library = try BookLibrary(store, clock: clock)
    settings = library.loadSettings()
    books = library.loadBooks()
    currentBook = library.loadCurrentBookID().flatMap { id in books.first { $0.id == id } }
  }

  // MARK: - The library

  /// Adds books that a service lists.
  func add(_ new: [Book]) throws {
    try library.saveBooks(books + new.filter { book in !books.contains { $0.id == book.id } })
    books = library.loadBooks()
  }

  /// Called when a file is chosen in the document picker.
  func importBook(from url: URL, fingerprint: String? = nil, duration: Double) throws {
    try library.importBook(from: url, fingerprint: fingerprint, duration: duration)
    books = library.loadBooks()
  }

  /// Called on a swipe over a row.
  ///
  /// - Returns: The files that the app may delete now.
  func delete(_ book: Book) throws -> [URL] {
    let deleted = try library.deleteBook(book.id)
    books = library.loadBooks()
    if currentBook?.id == book.id { currentBook = nil }
    return deleted?.files ?? []
  }

  // MARK: - Playing

  /// Called on a tap on a row: opens the player at the last position in the book.
  func select(_ book: Book) throws {
    try library.saveCurrentBookID(book.id)
    currentBook = book
    currentBook?.currentPosition = library.loadPosition(for: book.id)
  }

  /// Called by the player's time observer, many times a second.
  func report(position: Double) throws {
    guard let id = currentBook?.id else { return }
    currentBook?.currentPosition = position
    try library.savePosition(for: id, position: position)
  }

  /// Called on pause and stop, and when the app goes to sleep.
  func pause() throws {
    try library.flush()
    books = library.loadBooks()
  }

  /// The current chapter, of the book's own or of the simulated ones.
  var currentChapter: Chapter? {
    currentBook.flatMap { $0.chapters(settings).chapter(at: $0.currentPosition) }
  }

  // MARK: - Settings and covers

  func change(_ change: (inout PlaybackSettings) -> Void) throws {
    var changed = settings
    change(&changed)
    try library.saveSettings(changed)
    settings = changed
  }

  func coverSearchFailed(for book: Book) throws { try library.saveCoverStatus(.failed, for: book.id) }

  /// The books to search covers for again at the next launch.
  var booksToRetry: [Book] { library.booksWithFailedCovers() }
}
