import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A paper of arXiv, in one of its versions: each version is a paper of its own.
public struct Paper: FavoriteItem, Hashable {
  public static let library = "papers"

  /// With the version: "2006.08594v1", "quant-ph/0201082v1".
  public var id: String
  /// On one line.
  public var title: String
  /// The abstract; its lines stay as they came.
  public var summary: String
  /// In the order of the paper.
  public var authors: [String]
  /// As arXiv names them, "cs.SE", in the order of the record.
  public var categories: [String]
  /// When the first version came.
  public var publishedDate: Date
  /// When this version came; nil where it is not known.
  public var updatedDate: Date?
  /// Where arXiv keeps the file.
  public var pdfURL: URL
  /// Where arXiv shows the abstract.
  public var linkURL: URL
  /// What the store said when the paper was read; never written to it.
  public var isFavorite: Bool
  /// Since when, as the store said; nil where it is no favorite. Never written to the store.
  public var favoritedDate: Date?

  /// A paper with what is known of it.
  public init(
    id: String, title: String, summary: String = "", authors: [String] = [], categories: [String] = [],
    publishedDate: Date, updatedDate: Date? = nil, pdfURL: URL, linkURL: URL, isFavorite: Bool = false,
    favoritedDate: Date? = nil
  ) {
    self.id = id
    self.title = title
    self.summary = summary
    self.authors = authors
    self.categories = categories
    self.publishedDate = publishedDate
    self.updatedDate = updatedDate
    self.pdfURL = pdfURL
    self.linkURL = linkURL
    self.isFavorite = isFavorite
    self.favoritedDate = favoritedDate
  }

  /// Where arXiv shows the abstract (`abs`) or keeps the file (`pdf`) of a paper.
  package static func url(_ kind: String, of id: String) throws(LibraryError) -> URL {
    guard let url = URL(string: "https://arxiv.org/\(kind)/\(id)") else {
      throw .invalidItem("\"\(id)\" is no arXiv identifier")
    }
    return url
  }
}
