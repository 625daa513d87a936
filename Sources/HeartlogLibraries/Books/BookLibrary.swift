import Heartlog
import Synchronization

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
public final class BookLibrary: TypedLibrary {
  /// The store of the books, settings and positions.
  public let store: FavoritesStore
  /// The same books in the general interface: changes, models, history.
  public let books: Favorites<Book>
  let settings: FavoritesLibrary

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
  /// The positions that wait: at most one for each book, whichever caller reported it.
  var positions: CoalescedWrites { store.coalesced }

  /// Creates an interface to the books of a store, for one caller.
  ///
  /// - Parameter store: the store; it stays open when this instance is deallocated.
  /// - Throws: `HeartlogError`, but only for an invalid library name, which these are not.
  public init(_ store: FavoritesStore) throws(HeartlogError) {
    self.store = store
    books = try store.favorites(of: Book.self)
    settings = try store.library(PlaybackSettings.library)
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
    let loaded = books.page(order: .oldestFirst)
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
      let written = try positions.write(in: Book.library) { book, waiting in
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

extension BookLibrary {
  /// Imports an `.m4b` file, ignoring the case of its extension. The title is the name of the file without
  /// the extension.
  ///
  /// The content of a file decides which book it is, wherever it lies: the id is derived from its fingerprint. So
  /// a file that is imported again, here or on another device, is the same book, and another file at the same path
  /// is another one. If the library already has the book, with a file on this device, that one is returned unchanged,
  /// and nothing is written; likewise if it has a book with this file whose id was not derived, but given by the app.
  /// A book that another device added gets the files of this one.
  ///
  /// - Parameters:
  ///   - origin: the file that was chosen.
  ///   - fileURL: the app's copy of the file; the origin if `nil`.
  ///   - fingerprint: the fingerprint of the content; `Book.fingerprint(of:)` of the file if `nil`.
  ///   - author: `nil` if it is not known.
  ///   - duration: in seconds; 0 if it is not known.
  ///   - coverImageURL: `nil` if there is no cover yet.
  ///   - associatedFiles: files from the same folder: cue sheets, notes, images.
  ///   - dateAdded: the current time if `nil`.
  /// - Throws: `invalidItem` for another kind of file, for one that cannot be read, or for a duration that is not
  ///   valid.
  @discardableResult
  public func importBook(
    from origin: URL, copiedTo fileURL: URL? = nil, fingerprint: String? = nil, author: String? = nil,
    duration: Double = 0, coverImageURL: URL? = nil, associatedFiles: [URL] = [], dateAdded: Date? = nil
  ) throws(HeartlogError) -> Book {
    let title = try Self.title(of: origin)
    let content = if let fingerprint { fingerprint } else { try Book.fingerprint(of: fileURL ?? origin) }
    return try importBook(
      Book(
        id: Book.id(of: "m4b:\(content)"), title: title, author: author,
        fileURL: fileURL ?? origin, coverImageURL: coverImageURL, duration: duration,
        dateAdded: dateAdded ?? now, associatedFiles: associatedFiles))
  }

  /// Imports an `.m4b` file that was downloaded from Google Drive, with its associated files. The same file
  /// in Drive is the same book on every device.
  ///
  /// - Parameters:
  ///   - m4bFileID: the id of the file in Drive.
  ///   - folderID: the id of its folder in Drive, which becomes the book's `googleDriveFileID`.
  ///   - fileURL: the downloaded file.
  ///   - author: `nil` if it is not known.
  ///   - duration: in seconds; 0 if it is not known.
  ///   - coverImageURL: `nil` if there is no cover yet.
  ///   - associatedFiles: files that were downloaded with it: cue sheets, notes, images.
  ///   - dateAdded: the current time if `nil`.
  /// - Throws: `invalidItem` for another kind of file, or for a duration that is not valid.
  @discardableResult
  public func importBookFromGoogleDriveM4B(
    m4bFileID: String, folderID: String, fileURL: URL, author: String? = nil, duration: Double = 0,
    coverImageURL: URL? = nil, associatedFiles: [URL] = [], dateAdded: Date? = nil
  ) throws(HeartlogError) -> Book {
    try importBook(
      Book(
        id: Book.id(of: "google-drive:\(m4bFileID)"), title: try Self.title(of: fileURL), author: author,
        fileURL: fileURL, coverImageURL: coverImageURL, duration: duration, dateAdded: dateAdded ?? now,
        isDownloaded: true, googleDriveFileID: folderID, associatedFiles: associatedFiles))
  }

  private func importBook(_ book: Book) throws(HeartlogError) -> Book {
    let draft = try BookDraft(book)
    let location = book.fileURL.map(Self.location)
    let imported = try store.writeAsOne { () throws(HeartlogError) -> Book in
      let there = members().books.first {
        $0.id == book.id || !$0.hasDerivedID && $0.fileURL.map(Self.location) == location
      }
      if let there { return try record(files: draft.book, of: there) }
      try add(draft)
      return draft.book
    }
    // Known, but not listed: saving an array that does not contain the book yet must not delete it.
    memory.withLock { $0.books[imported.id] = imported }
    return imported
  }

  /// Records the files of a book that another device added. Must be called inside a write.
  private func record(files new: Book, of there: Book) throws(HeartlogError) -> Book {
    guard there.fileURL == nil else { return there }
    var book = there
    (book.fileURL, book.isDownloaded) = (new.fileURL, new.isDownloaded)
    if book.associatedFiles.isEmpty { book.associatedFiles = new.associatedFiles }
    if book.coverImageURL == nil, new.coverImageURL?.isFileURL == true { book.coverStatus = new.coverStatus }
    let fields = try BookDraft(book).fields.filter { Book.localFields.contains($0.name) }
    try books.library.set(fields, of: book.id.favoriteID)
    return book
  }

  private var now: Date { Date(milliseconds: store.options.clock()) }

  private static func location(of url: URL) -> String {
    url.isFileURL ? url.standardizedFileURL.path : url.absoluteString
  }

  private static func title(of url: URL) throws(HeartlogError) -> String {
    guard url.pathExtension.lowercased() == "m4b" else {
      throw HeartlogError(.invalidItem, "\(url.lastPathComponent) is no .m4b file")
    }
    return url.deletingPathExtension().lastPathComponent
  }
}

extension BookLibrary {
  /// Saves the settings that differ from those that this caller last loaded or saved. If it did neither, all
  /// settings are compared with the store. Each setting is a separate field, so two devices can change
  /// different settings concurrently.
  ///
  /// - Throws: `invalidItem` if a setting is out of its range; then none is written.
  public func saveSettings(_ new: PlaybackSettings) throws(HeartlogError) {
    try saveSettings(new, since: memory.withLock { $0.settings })
  }

  /// Saves the settings that differ from others that were seen before; all that differ from the store if `nil`.
  func saveSettings(_ new: PlaybackSettings, since seen: PlaybackSettings?) throws(HeartlogError) {
    let fields = try Self.fields(of: new)
    let before = try seen.map { (seen) throws(HeartlogError) in try Self.fields(of: seen) } ?? []
    let differing = fields.filter { !before.contains($0) }
    try settings.set(differing, of: PlaybackSettings.item)
    memory.withLock { $0.settings = new }
  }

  /// Loads the settings. A setting that is missing or not valid has its default value; this does not affect
  /// the others.
  public func loadSettings() -> PlaybackSettings {
    let loaded = storedSettings
    memory.withLock { $0.settings = loaded }
    return loaded
  }

  /// The settings, without remembering them as loaded.
  var storedSettings: PlaybackSettings {
    let held = settings.item(PlaybackSettings.item)?.fields ?? []
    return Self.settings(of: held.filter { Self.settings(of: [$0]) != nil }) ?? PlaybackSettings()
  }

  private static func settings(of fields: [Field]) -> PlaybackSettings? {
    try? FieldDecoder.decode(
      PlaybackSettings.self, id: PlaybackSettings.item, isFavorite: false, favoritedDate: nil, fields: fields)
  }

  private static func fields(of settings: PlaybackSettings) throws(HeartlogError) -> [Field] {
    do { return try FieldEncoder.fields(of: settings) } catch {
      throw HeartlogError(.invalidItem, "settings: \(error)")
    }
  }
}

/// The space that the files of books take.
public struct BookStorage: Hashable, Sendable {
  /// The number of books.
  public var books = 0
  /// The number of books whose audio is on this device.
  public var downloadedBooks = 0
  /// The size of the files of all books, in bytes, as far as the app knows it.
  public var bytes = 0
  /// The size of the files of the books whose audio is on this device, in bytes.
  public var downloadedBytes = 0
}

extension Sequence<Book> {
  /// The space that the files of these books take: the audio, the cover and the associated files. A file that several
  /// books use counts once.
  ///
  /// - Parameter size: returns the size of a file in bytes; `nil` if it is not known, or there is no such file.
  public func storage(size: (URL) -> Int?) -> BookStorage {
    var storage = BookStorage()
    var sizes: [URL: Int] = [:]
    var downloaded: Set<URL> = []
    for book in self {
      storage.books += 1
      if book.isDownloaded { storage.downloadedBooks += 1 }
      for url in [book.fileURL ?? book.downloadURL, book.coverImageURL].compactMap({ $0 })
        + book.associatedFiles
      {
        let file = url.isFileURL ? url.standardizedFileURL : url
        let bytes = sizes[file] ?? Swift.max(0, size(url) ?? 0)
        if sizes.updateValue(bytes, forKey: file) == nil { storage.bytes += bytes }
        if book.isDownloaded, downloaded.insert(file).inserted { storage.downloadedBytes += bytes }
      }
    }
    return storage
  }
}

extension Book: DescribedItem {
  public static var descriptor: any LibraryDescriptor { BooksDescriptor() }
}

extension PlaybackSettings: DescribedItem {
  public static var descriptor: any LibraryDescriptor { SettingsDescriptor() }
}

/// Audiobooks, identified by UUIDs.
private struct BooksDescriptor: LibraryDescriptor {
  let name = Book.library
  let fields: [LibraryField] = [
    .init("title"), .init("author"), .init("downloadURL", .url), .init("coverImageURL", .url),
    .init("duration", .seconds),
    // Any number: it is clamped.
    .init("currentPosition", .number(-.infinity ... .infinity), isQuiet: true),
    .init("googleDriveFileID"), .init("coverSearch"),
    .init("fileURL", .url, isLocal: true), .init("coverFileURL", .url, isLocal: true),
    .init("isDownloaded", .bool, isLocal: true), .init("associatedFiles", .texts, isLocal: true),
  ]
  let titleFields = ["title"]
  let subtitleFields = ["author"]
  let formats: [any FileFormat] = [LibriVoxFormat()]
  var appRecords: (any AppRecords)? { BookRecordList() }

  func id(_ text: String) throws(LibraryError) -> String {
    guard let uuid = UUID(uuidString: text) else {
      throw .invalidItem("\(text.quoted) is not the id of a book, which is a UUID")
    }
    return uuid.favoriteID
  }

  /// Removes the path of a cover too, as older versions logged it. The address of an audio file becomes the one for
  /// downloading it.
  func removeLocal(_ item: inout FileItem) {
    if item["downloadURL"] == nil, let address = item["fileURL"]?.text, let url = Book.url(address),
      url.scheme != nil, !url.isFileURL
    {
      item.set("downloadURL", .string(address))
    }
    var local = localFields
    if let cover = item["coverImageURL"]?.text, Book.url(cover)?.isFileURL == true {
      local.insert("coverImageURL")
    }
    item.remove(local)
  }

  /// Clamps the position to 0…duration.
  func reconcile(_ item: inout FileItem) {
    guard let position = item["currentPosition"]?.number else { return }
    let clamped = Book.clamped(position, duration: item["duration"]?.number ?? 0)
    guard clamped != position, let value = FieldValue.number(clamped) else { return }
    item.set("currentPosition", value)
  }

  /// The address for downloading the audio.
  func address(of item: FileItem) -> String? { item["downloadURL"]?.text }

  /// Recognizes an `.m4b` file. It becomes the same book as an imported file; one that cannot be read is identified by
  /// its path.
  func item(at address: String, title: String) throws(LibraryError) -> FileItem? {
    guard let url = URL(string: address), url.isFileURL, url.pathExtension.lowercased() == "m4b" else {
      return nil
    }
    let name = title.isEmpty ? url.deletingPathExtension().lastPathComponent : title
    let content = try? Book.fingerprint(of: url)
    let id = Book.id(of: content.map { "m4b:\($0)" } ?? "file:\(url.standardizedFileURL.path)")
    return try FileItem(encoding: Book(id: id, title: name, fileURL: url, dateAdded: .distantPast))
  }
}

/// The settings of the audiobook app, and any other settings.
private struct SettingsDescriptor: LibraryDescriptor {
  let name = PlaybackSettings.library
  let fields: [LibraryField] = [
    .init("playbackSpeed", .number(0.5...2)), .init("skipForwardInterval", .seconds),
    .init("skipBackwardInterval", .seconds), .init("simulateChapters", .bool),
    .init("simulatedChapterLength", .seconds), .init("rewindAfterInterruption", .seconds),
    // The app keeps these, and does not use them.
    .init("sleepTimerEnabled", .bool), .init("sleepTimerDuration", .seconds),
  ]
  let traits: Set<LibraryTrait> = [.settings]
  var appRecords: (any AppRecords)? { SettingsRecords() }
}
