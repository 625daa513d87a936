#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

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

  /// Creates a sum.
  public init(books: Int = 0, downloadedBooks: Int = 0, bytes: Int = 0, downloadedBytes: Int = 0) {
    self.books = books
    self.downloadedBooks = downloadedBooks
    self.bytes = bytes
    self.downloadedBytes = downloadedBytes
  }
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
