#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A book that was deleted, and what it leaves behind.
public struct DeletedBook: Hashable, Sendable {
  /// Which book it was.
  public let id: Book.ID
  /// As it was; nil where the store's record of it was no book.
  public let book: Book?
  /// The files on disk that were the book's alone: its own, its cover, those beside it. They are not the store's to delete.
  public let files: [URL]

  /// - Parameter others: the paths of all files of the books that remain.
  init(id: Book.ID, book: Book?, others: Set<String>) {
    self.id = id
    self.book = book
    var seen = others
    files = (book?.files ?? []).filter { seen.insert($0.standardizedFileURL.path).inserted }
  }
}

extension [Book] {
  /// The paths of all their files on disk.
  var filePaths: Set<String> { Set(flatMap(\.files).map(\.standardizedFileURL.path)) }
}

extension Book {
  /// Its files on disk: the book, its cover, those beside it.
  var files: [URL] { ([fileURL, coverImageURL].compactMap { $0 } + associatedFiles).filter(\.isFileURL) }
}
