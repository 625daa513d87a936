import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A paper on arXiv in one of its versions. Each version is a separate paper.
public struct Paper: FavoriteItem, Hashable {
  public static let library = "papers"

  /// The identifier with the version: "2006.08594v1", "quant-ph/0201082v1".
  public var id: String
  /// The title, on one line.
  public var title: String
  /// The abstract, with its original line breaks.
  public var summary: String
  /// The authors, in the order of the paper.
  public var authors: [String]
  /// The categories as arXiv names them, "cs.SE", in the order of the record.
  public var categories: [String]
  /// When the first version was published.
  public var publishedDate: Date
  /// When this version was published; `nil` if it is not known.
  public var updatedDate: Date?
  /// The address of the PDF at arXiv.
  public var pdfURL: URL
  /// The address of the abstract at arXiv.
  public var linkURL: URL
  /// Whether the paper was a favorite when it was read; never written to the store.
  public var isFavorite: Bool
  /// When the paper became a favorite; `nil` if it was not one when it was read. Never written to the store.
  public var favoritedDate: Date?

  /// Creates a paper.
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

  /// The address of the abstract (`abs`) or the PDF (`pdf`) of a paper at arXiv.
  package static func url(_ kind: String, of id: String) throws(LibraryError) -> URL {
    guard let url = URL(string: "https://arxiv.org/\(kind)/\(id)") else {
      throw .invalidItem("\"\(id)\" is no arXiv identifier")
    }
    return url
  }
}
