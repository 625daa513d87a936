import Heartlog

/// An answer of the arXiv API: an Atom feed. If the answer is an error, it is refused with arXiv's own
/// message.
struct ArXivAtomFormat: FileFormat {
  let name = "arxiv-atom"
  let summary = "an Atom feed of the arXiv API"
  let fileExtensions = ["atom", "xml"]

  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let text = String(decoding: beginning, as: UTF8.self)
    return text.contains("<feed") && text.contains("arxiv.org/")
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    var line = 1
    var counted = 0
    for entry in try Paper.entries(atom: bytes) {
      line += bytes[counted..<entry.offset].count { $0 == 0x0A }
      counted = entry.offset
      contents.take(line: line) { () throws(LibraryError) in try FileItem(encoding: Paper(entry: entry)) }
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
    try entries(atom: Array(feed)).map { (entry) throws(LibraryError) in try Paper(entry: entry) }
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
    Date(milliseconds: try LibraryError.checking(RFC3339.parse(text), in: "the entry \(id): "))
  }
}

/// The metadata snapshot of arXiv, with one JSON object per line. Each paper is read in its latest version.
struct ArXivSnapshotFormat: FileFormat {
  let name = "arxiv-jsonl"
  let summary = "lines of the metadata snapshot of arXiv"
  /// Empty: these files have the extensions of JSON Lines, so only their content identifies them.
  let fileExtensions: [String] = []

  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let text = String(decoding: beginning, as: UTF8.self)
    return text.drop(while: \.isWhitespace).first == "{" && text.contains("\"submitter\"")
      && text.contains("\"authors\"")
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    contents.takeLines(of: bytes) { (line) throws(LibraryError) in
      let record = try LibraryError.checking(JSONValue.parse(Array(line)))
      return try FileItem(encoding: Paper(snapshot: record))
    }
    return contents
  }
}

/// Parsing of the metadata snapshot of arXiv, which has one JSON object per line.
extension Paper {
  /// Reads a record, in the latest of its versions.
  ///
  /// - Throws: `LibraryError.invalidItem` if the record lacks a required member of a paper.
  package init(snapshot record: some JSONSource) throws(LibraryError) {
    let record = try record.json()
    guard let name = record["id"]?.string, !name.isEmpty else {
      throw .invalidItem("a record of the arXiv snapshot without an id")
    }
    guard let title = record["title"]?.string, let versions = record["versions"]?.array,
      let version = versions.last?["version"]?.string,
      let published = versions.first?["created"]?.string.flatMap(Self.date),
      let updated = versions.last?["created"]?.string.flatMap(Self.date)
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

  /// Parses a date, in the form of a mail header.
  private static func date(_ text: String) -> Date? {
    (try? FileDate.time(text)).map { Date(milliseconds: $0) }
  }
}
