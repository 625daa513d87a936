import Heartlog
import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// An answer of the arXiv API: an Atom feed. If the answer is an error, it is refused with arXiv's own
/// message.
public struct ArXivAtomFormat: FileFormat {
  public let name = "arxiv-atom"
  public let summary = "an Atom feed of the arXiv API"
  public let fileExtensions = ["atom", "xml"]

  /// Creates the format, which has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let text = String(decoding: beginning, as: UTF8.self)
    return text.contains("<feed") && text.contains("arxiv.org/")
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    var line = 1
    var counted = 0
    for entry in try Paper.entries(atom: bytes) {
      line += bytes[counted..<entry.offset].count { $0 == 0x0A }
      counted = entry.offset
      contents.take(line: line) { () throws(LibraryError) in try FileItem(Paper(entry: entry)) }
    }
    return contents
  }
}

/// Parsing of the Atom feeds that the arXiv API returns.
extension Paper {
  /// Parses the entries of a feed, in order.
  ///
  /// - Throws: `LibraryError.invalidAnswer` if the text is not a feed, or if the answer is an error, with
  ///   arXiv's own message; `LibraryError.invalidItem` if an entry lacks a required element of a paper.
  public static func papers(atom feed: some Sequence<UInt8>) throws(LibraryError) -> [Paper] {
    var papers: [Paper] = []
    for entry in try entries(atom: Array(feed)) { papers.append(try Paper(entry: entry)) }
    return papers
  }

  /// Parses the entries of a feed, without checking that each is a paper.
  ///
  /// - Throws: `LibraryError.invalidAnswer`, like `papers(atom:)`.
  static func entries(atom bytes: [UInt8]) throws(LibraryError) -> [XMLElement] {
    let feed: XMLElement
    do {
      feed = try XMLElement.document(bytes)
    } catch {
      throw .invalidAnswer(error.reason)
    }
    guard feed.name == "feed" else { throw .invalidAnswer("XML that is no Atom feed") }
    let entries = feed.children(named: "entry")
    for entry in entries {
      if entry.text(of: "id")?.contains("/api/errors") == true {
        throw .invalidAnswer("arXiv answers: \((entry.text(of: "summary") ?? "an error").collapsed)")
      }
    }
    return entries
  }

  init(entry: XMLElement) throws(LibraryError) {
    let address = entry.text(of: "id") ?? ""
    let prefix = ["http://arxiv.org/abs/", "https://arxiv.org/abs/"].first { address.hasPrefix($0) }
    guard let prefix, address != prefix else {
      throw .invalidItem("an entry without an arXiv identifier, but with \"\(address)\"")
    }
    let id = String(address.dropFirst(prefix.count))
    guard let title = entry.text(of: "title"), let published = entry.text(of: "published") else {
      throw .invalidItem("the entry \(id) without a title or a date")
    }
    func link(_ name: String, _ value: String, or kind: String) throws(LibraryError) -> URL {
      let link = entry.children(named: "link").first { $0.attributes[name] == value }
      if let url = link?.attributes["href"].flatMap({ URL(string: $0) }) { return url }
      return try Self.url(kind, of: id)
    }
    self.init(
      id: id, title: title.collapsed, summary: (entry.text(of: "summary") ?? "").withoutOuterWhiteSpace,
      authors: entry.children(named: "author").compactMap { $0.text(of: "name") }.map(\.collapsed),
      categories: entry.children(named: "category").compactMap { $0.attributes["term"] },
      publishedDate: try Self.date(published, of: id),
      updatedDate: try entry.text(of: "updated").map { (text) throws(LibraryError) in
        try Self.date(text, of: id)
      },
      pdfURL: try link("title", "pdf", or: "pdf"),
      linkURL: try link("rel", "alternate", or: "abs"))
  }

  private static func date(_ text: String, of id: String) throws(LibraryError) -> Date {
    do {
      return Date(timeIntervalSince1970: Double(try RFC3339.parse(text)) / 1_000)
    } catch {
      throw .invalidItem("the entry \(id): \(error.reason)")
    }
  }
}
