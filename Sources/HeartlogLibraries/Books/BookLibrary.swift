import Heartlog
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The books of a player, its settings, and the position in each book, in a store. The interface is that of
/// an app's persistence manager.
///
/// ```swift
/// let library = try BookLibrary(store)
/// var books = library.loadBooks()
/// books.append(try library.importBook(from: url, duration: 3_600))
/// try library.savePosition(for: book.id, position: player.currentTime)  // as often as the player says
/// try library.flush()                                                   // at pause, at stop, when the app goes to sleep
/// ```
///
/// An instance remembers what it loaded and saved, and writes only what has changed since. So saving an
/// outdated array does not remove what another device has added. Use one instance per caller.
///
/// It is thread-safe. It flushes when it is deallocated; close the store after that.
public final class BookLibrary: Sendable {
  /// The store of the books, settings and positions.
  public let store: FavoritesStore
  /// The same books in the general interface: changes, models, history.
  public let books: Favorites<Book>
  let settings: FavoritesLibrary
  let clock: @Sendable () -> Milliseconds

  struct Memory {
    /// The books that this caller last loaded, saved or imported.
    var books: [Book.ID: Book] = [:]
    /// The ids in the array that it last loaded or saved: a book missing in the next array is deleted.
    var listed: Set<Book.ID> = []
    var settings: PlaybackSettings?
    /// The last book for which a position above 0 was reported since a book was last selected.
    var playing: Book.ID?
    /// The positions that waited before a 0 was reported, which a player does while it loads another book.
    var beforeZero: [Book.ID: CoalescedWrites.Waiting] = [:]

    mutating func forgetPosition(of id: Book.ID) {
      beforeZero[id] = nil
      if playing == id { playing = nil }
    }
  }

  // Locked inside the store's write, never the other way round: a caller may be inside a write of its own.
  let memory = Mutex(Memory())
  /// The positions that wait: at most one for each book.
  let positions: CoalescedWrites

  /// Creates an interface to the books of a store, for one caller.
  ///
  /// - Parameters:
  ///   - store: the store; it stays open when this instance is deallocated.
  ///   - clock: returns milliseconds since 1970; it determines how often positions are written.
  /// - Throws: `HeartlogError`, but only for an invalid library name, which these are not.
  public init(
    _ store: FavoritesStore, clock: @escaping @Sendable () -> Milliseconds = { StoreOptions.systemTime() }
  ) throws(HeartlogError) {
    self.store = store
    books = try store.favorites(of: Book.self)
    settings = try store.library(PlaybackSettings.library)
    self.clock = clock
    positions = store.makeCoalescedWrites(clock: clock)
  }

  deinit { try? flush() }

  /// Writes the positions that wait. This instance can still be used; the store stays open.
  ///
  /// - Throws: as `flush()`.
  public func close() throws(HeartlogError) { try flush() }

  // MARK: - Loading

  /// The books in the order in which they were added, with their latest positions. A record that is not a
  /// valid book is left out, and reported by `loadBooksAndFailures`.
  public func loadBooks() -> [Book] { loadBooksAndFailures().books }

  /// Loads the books like `loadBooks`, together with the records that are not valid books. Such a record does
  /// not affect the other books, and saving these does not delete it.
  public func loadBooksAndFailures() -> (books: [Book], failures: [(id: String, error: HeartlogError)]) {
    let loaded = members()
    memory.withLock {
      $0.books = Dictionary(loaded.books.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
      $0.listed = Set($0.books.keys)
    }
    return loaded
  }

  /// The books of the library, without remembering them as loaded.
  func members() -> (books: [Book], failures: [(id: String, error: HeartlogError)]) {
    let loaded = books.load(order: .oldestFirst)
    var members = loaded.items
    for index in members.indices {
      members[index].currentPosition = loadPosition(for: members[index].id)
    }
    return (members, loaded.failures)
  }

  // MARK: - The current book

  /// Selects a book, or none. A position that waits is written in the same commit, but not a 0 that a player
  /// reported while it was loading the new book.
  ///
  /// - Throws: `HeartlogError` if the store cannot be written; then the previous book stays selected.
  public func saveCurrentBookID(_ id: Book.ID?) throws(HeartlogError) {
    let written = try store.writeAsOne { () throws(HeartlogError) -> CoalescedWrites.Written? in
      guard currentBookID != id else { return nil }
      let beforeZero = memory.withLock { $0.beforeZero }
      let written = try positions.write { book, waiting in
        waiting.seconds == 0 ? Book.ID(favoriteID: book).flatMap { beforeZero[$0] } : waiting
      }
      try setCurrentBookID(id)
      return written
    }
    guard let written else { return }
    positions.forget(written)
    memory.withLock { ($0.playing, $0.beforeZero) = (nil, [:]) }
  }

  /// The current book; `nil` if there is none, or it is no longer in the library.
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
