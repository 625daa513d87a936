#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A book that was deleted, and what it leaves behind.
public struct DeletedBook: Hashable, Sendable {
  public let id: Book.ID
  /// As it was; nil where the store's record of it was no book.
  public let book: Book?
  /// The files on disk that were the book's alone: its own, its cover, those beside it. They are not the store's to delete.
  public let files: [URL]

  init(id: Book.ID, book: Book?, remaining: [Book]) {
    self.id = id
    self.book = book
    let others = Set(remaining.flatMap(\.files).map(\.standardizedFileURL.path))
    var seen: Set<String> = []
    files = (book?.files ?? []).filter { file in
      let path = file.standardizedFileURL.path
      return !others.contains(path) && seen.insert(path).inserted
    }
  }
}

extension Book {
  /// Its files on disk: the book, its cover, those beside it.
  var files: [URL] { ([fileURL, coverImageURL].compactMap { $0 } + associatedFiles).filter(\.isFileURL) }
}
