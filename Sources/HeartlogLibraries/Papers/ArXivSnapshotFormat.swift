import Heartlog
import HeartlogFormat

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The metadata snapshot of arXiv, with one JSON object per line. Each paper is read in its latest version.
public struct ArXivSnapshotFormat: FileFormat {
  public let name = "arxiv-jsonl"
  public let summary = "lines of the metadata snapshot of arXiv"
  /// Empty: these files have the extensions of JSON Lines, so only their content identifies them.
  public let fileExtensions: [String] = []

  /// Creates the format, which has no settings.
  public init() {}

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let text = String(decoding: beginning, as: UTF8.self)
    return text.drop(while: \.isWhitespace).first == "{" && text.contains("\"submitter\"")
      && text.contains("\"authors\"")
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    contents.takeLines(of: bytes) { (line) throws(LibraryError) in
      let record: JSONValue
      do throws(MalformedError) {
        record = try JSONValue.parse(Array(line))
      } catch {
        throw .invalidItem(error.reason)
      }
      return try FileItem(Paper(snapshot: record))
    }
    return contents
  }
}

/// Parsing of the metadata snapshot of arXiv, which has one JSON object per line.
extension Paper {
  /// Reads a record, in the latest of its versions.
  ///
  /// - Throws: `LibraryError.invalidItem` if the record lacks a required member of a paper.
  public init(snapshot record: some JSONSource) throws(LibraryError) {
    let record = try record.json()
    guard let name = record["id"]?.string, !name.isEmpty else {
      throw .invalidItem("a record of the arXiv snapshot without an id")
    }
    guard let title = record["title"]?.string, let versions = record["versions"]?.array,
      let version = versions.last?["version"]?.string,
      let published = versions.first?["created"]?.string.flatMap(Self.date(mail:)),
      let updated = versions.last?["created"]?.string.flatMap(Self.date(mail:))
    else { throw .invalidItem("the record \(name) without a title, a version or a date") }
    let id = name + version
    self.init(
      id: id, title: title.collapsed, summary: (record["abstract"]?.string ?? "").withoutOuterWhiteSpace,
      authors: Self.authors(record["authors_parsed"]),
      categories: record["categories"]?.string?.split(separator: " ").map(String.init) ?? [],
      publishedDate: published, updatedDate: updated, pdfURL: try Self.url("pdf", of: id),
      linkURL: try Self.url("abs", of: id))
  }

  /// Joins names from `[["Balázs", "C.", "Jr."], …]`: family name, given names, suffix.
  private static func authors(_ value: JSONValue?) -> [String] {
    (value?.array ?? []).compactMap { author in
      let parts = (author.array ?? []).compactMap(\.string)
      guard let family = parts.first else { return nil }
      // A fourth part is an affiliation, which is ignored.
      let name = [parts.dropFirst().first ?? "", family, parts.dropFirst(2).first ?? ""]
      return name.joined(separator: " ").collapsed
    }
  }

  /// Parses a date in the form of a mail header, in UTC: "Mon, 2 Apr 2007 19:18:42 GMT".
  private static func date(mail text: String) -> Date? {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let month = months.firstIndex(of: String(parts[2])),
      (1...2).contains(parts[1].count)
    else { return nil }
    let day = parts[1].count == 1 ? "0\(parts[1])" : "\(parts[1])"
    let time = try? RFC3339.parse("\(parts[3])-\(month < 9 ? "0" : "")\(month + 1)-\(day)T\(parts[4])Z")
    return time.map { Date(timeIntervalSince1970: Double($0) / 1_000) }
  }
}
