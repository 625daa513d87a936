import Heartlog
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The books of a player, its settings, and where each book was left: in a store, by the calls of an app's persistence manager.
///
/// ```swift
/// let library = try BookLibrary(store)
/// var books = library.loadBooks()
/// books.append(try library.importBook(from: url, duration: 3_600))
/// try library.savePosition(for: book.id, position: player.currentTime)  // as often as the player says
/// try library.flush()                                                   // at pause, at stop, when the app goes to sleep
/// ```
///
/// What an instance loads or saves is what it compares with when it saves again: only what *it* changed is written, so that an array
/// that is out of date takes nothing away that another device has added. One instance stands for one caller.
///
/// It may be called from any thread. Let go of, it flushes; close the store after that.
public final class BookLibrary: Sendable {
  /// The store that holds books, settings and positions.
  public let store: FavoritesStore
  /// The same books in the words of the store: changes, models, history.
  public let books: Favorites<Book>
  let settings: FavoritesLibrary
  let clock: @Sendable () -> Milliseconds

  struct Memory {
    /// What this caller last loaded, saved or imported.
    var books: [Book.ID: Book] = [:]
    /// Those of the array that it last loaded or saved: what is missing in the next one is deleted.
    var listed: Set<Book.ID> = []
    var settings: PlaybackSettings?
    var positions = PositionTracks()
  }

  // Taken inside of the store's write, never around it: a caller may be inside of a write of its own.
  let memory = Mutex(Memory())

  /// The books of a store, for one caller.
  ///
  /// - Parameters:
  ///   - store: stays open when the library is let go of.
  ///   - clock: milliseconds since 1970; what positions are spaced by.
  /// - Throws: `HeartlogError`, which the names of these libraries never cause.
  public init(
    _ store: FavoritesStore, clock: @escaping @Sendable () -> Milliseconds = { StoreOptions.systemTime() }
  ) throws(HeartlogError) {
    self.store = store
    books = try store.favorites(of: Book.self)
    settings = try store.library(PlaybackSettings.library)
    self.clock = clock
  }

  deinit { try? flush() }

  /// Writes what waits. The library may be used further; the store stays open.
  ///
  /// - Throws: as `flush()`.
  public func close() throws(HeartlogError) { try flush() }

  // MARK: - Loading

  /// The books in the order in which they were added, each with its latest position. What cannot be read as a book is left out, and
  /// named by `loadBooksAndFailures`.
  public func loadBooks() -> [Book] { loadBooksAndFailures().books }

  /// As `loadBooks`, with what could not be read as a book: one bad record never hides the others, nor does saving the others delete it.
  public func loadBooksAndFailures() -> (books: [Book], failures: [(id: String, error: HeartlogError)]) {
    let loaded = members()
    memory.withLock {
      $0.books = Dictionary(loaded.books.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
      $0.listed = Set($0.books.keys)
    }
    return loaded
  }

  /// The books of the library, without taking note of them.
  func members() -> (books: [Book], failures: [(id: String, error: HeartlogError)]) {
    let loaded = books.load(order: .oldestFirst)
    var members = loaded.items
    if zip(members, members.dropFirst()).contains(where: { $0.dateAdded == $1.dateAdded }) {
      // Of books that were added in one moment, the log knows the order.
      let positions = store.read { state in
        members.map { state.membershipPosition(of: $0.id.favoriteID, in: Book.library) }
      }
      members = zip(members, positions).sorted { a, b in
        if a.0.dateAdded != b.0.dateAdded { return a.0.dateAdded < b.0.dateAdded }
        guard let first = a.1, let second = b.1 else { return a.1 == nil && b.1 != nil }
        return first < second
      }.map(\.0)
    }
    for index in members.indices {
      members[index].currentPosition = loadPosition(for: members[index].id)
    }
    return (members, loaded.failures)
  }

  // MARK: - The current book

  /// Selects a book, or none. What waits of the book before it is written in the same commit; a 0 that a player reports while it loads
  /// the new one does not count as a position.
  ///
  /// - Throws: `HeartlogError` where the store cannot be written; then the book before it stays selected.
  public func saveCurrentBookID(_ id: Book.ID?) throws(HeartlogError) {
    let flushed = try store.writeAsOne { () throws(HeartlogError) in
      guard currentBookID != id else { return nil as [PositionTracks.Entry]? }
      let flushed = try writeWaiting(atBookChange: true)
      try setCurrentBookID(id)
      return flushed
    }
    guard let flushed else { return }
    memory.withLock {
      $0.positions.forget(flushed, at: clock())
      $0.positions.playing = nil
    }
  }

  /// The current book; nil where there is none, or where it is no longer in the library.
  public func loadCurrentBookID() -> Book.ID? {
    guard let id = currentBookID, books.contains(id) else { return nil }
    return id
  }

  var currentBookID: Book.ID? {
    settings.item(Self.player)?.value(of: Self.currentBookField)?.text.flatMap(Book.ID.init(favoriteID:))
  }

  func setCurrentBookID(_ id: Book.ID?) throws(HeartlogError) {
    let value = id.map { FieldValue.string($0.favoriteID) } ?? .null
    try settings.set([Field(name: Self.currentBookField, value: value)], of: Self.player)
  }

  static let player = "player"
  static let currentBookField = "currentBookID"
}
