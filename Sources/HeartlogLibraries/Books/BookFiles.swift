#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A deleted book, and the files that it leaves behind.
public struct DeletedBook: Hashable, Sendable {
  /// The id of the book.
  public let id: Book.ID
  /// The book before it was deleted; `nil` if its record was not a valid book.
  public let book: Book?
  /// The files on disk that no other book uses: its audio, its cover, and its associated files. The store
  /// does not delete them.
  public let files: [URL]

  /// Creates a deleted book.
  ///
  /// - Parameters:
  ///   - id: the id of the book.
  ///   - book: the book before it was deleted.
  ///   - others: the paths of all files of the remaining books.
  init(id: Book.ID, book: Book?, others: Set<String>) {
    self.id = id
    self.book = book
    var seen = others
    files = (book?.files ?? []).filter { seen.insert($0.standardizedFileURL.path).inserted }
  }
}

extension [Book] {
  /// The paths of all files on disk of these books.
  var filePaths: Set<String> { Set(flatMap(\.files).map(\.standardizedFileURL.path)) }
}

extension Book {
  /// The book's files on disk: its audio, its cover, and its associated files.
  var files: [URL] { ([fileURL, coverImageURL].compactMap { $0 } + associatedFiles).filter(\.isFileURL) }
}
