import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension BookLibrary {
  /// Takes an `.m4b` file, in whatever case, into the library; its title is the file's name without the extension.
  ///
  /// The same file is the same book, however often it is imported: its identity is made from where it came from. A book that is in the
  /// library already, by its origin or by its file, is returned as it is, and nothing is written.
  ///
  /// - Parameters:
  ///   - origin: the file that was chosen.
  ///   - fileURL: where the app keeps its copy; the origin where nil.
  ///   - fingerprint: what tells the file from others better than its place does, such as a hash of its bytes: with it, two devices that
  ///     import one file have one book.
  ///   - author: nil where nobody is known.
  ///   - duration: seconds; 0 where it is not known.
  ///   - coverImageURL: nil where there is no cover yet.
  ///   - associatedFiles: what lay beside it: cue sheets, notes, pictures.
  ///   - dateAdded: now where nil.
  /// - Throws: `invalidItem` for another kind of file, and for a duration that is none.
  @discardableResult
  public func importBook(
    from origin: URL, copiedTo fileURL: URL? = nil, fingerprint: String? = nil, author: String? = nil,
    duration: Double = 0, coverImageURL: URL? = nil, associatedFiles: [URL] = [], dateAdded: Date? = nil
  ) throws(HeartlogError) -> Book {
    let name = fingerprint.map { "m4b:\($0)" } ?? "file:\(Self.location(of: origin))"
    return try importBook(
      Book(
        id: Book.id(of: name), title: try Self.title(of: origin), author: author,
        fileURL: fileURL ?? origin, coverImageURL: coverImageURL, duration: duration,
        dateAdded: dateAdded ?? now, associatedFiles: associatedFiles))
  }

  /// Takes an `.m4b` file that was downloaded from Google Drive, with what lay beside it, into the library. The same file of the Drive is
  /// the same book, on every device.
  ///
  /// - Parameters:
  ///   - m4bFileID: the Drive's id of the file.
  ///   - folderID: that of its folder, which the book keeps as `googleDriveFileID`.
  ///   - fileURL: where it was downloaded to.
  ///   - author: nil where nobody is known.
  ///   - duration: seconds; 0 where it is not known.
  ///   - coverImageURL: nil where there is no cover yet.
  ///   - associatedFiles: what was downloaded with it: cue sheets, notes, pictures.
  ///   - dateAdded: now where nil.
  /// - Throws: `invalidItem` for another kind of file, and for a duration that is none.
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
    let location = Self.location(of: book.fileURL)
    let imported = try store.writeAsOne { () throws(HeartlogError) -> Book in
      let there = members().books.first { $0.id == book.id || Self.location(of: $0.fileURL) == location }
      if let there { return there }
      try add(draft)
      return draft.book
    }
    // Seen, but not listed: an array that does not have the book yet must not delete it.
    memory.withLock { $0.books[imported.id] = imported }
    return imported
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
