import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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

  private var now: Date { Date(milliseconds: clock()) }

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
