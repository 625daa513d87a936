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
  public var title: String
  public var summary: String
  public var authors: [String]
  public var categories: [String]
  public var publishedDate: Date
  public var updatedDate: Date?
  public var pdfURL: URL
  public var linkURL: URL
  public var isFavorite: Bool
  public var favoritedDate: Date?

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
  static func url(_ kind: String, of id: String) throws(LibraryError) -> URL {
    guard let url = URL(string: "https://arxiv.org/\(kind)/\(id)") else {
      throw .invalidItem("\"\(id)\" is no arXiv identifier")
    }
    return url
  }

  /// A text without the line breaks and the indents of its source.
  static func collapsed(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  /// A text without white space at its ends; its lines stay.
  static func trimmed(_ text: String) -> String {
    guard let first = text.firstIndex(where: { !$0.isWhitespace }),
      let last = text.lastIndex(where: { !$0.isWhitespace })
    else { return "" }
    return String(text[first...last])
  }
}
