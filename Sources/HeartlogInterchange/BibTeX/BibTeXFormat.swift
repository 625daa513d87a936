import Heartlog
import HeartlogEvents
import HeartlogLibraries

/// BibTeX, as read and written by LaTeX, biblatex, JabRef, BibDesk, Zotero and Google Scholar.
///
/// An entry whose id is its key is refused if an earlier entry has the same key. `crossref` inherits nothing.
public struct BibTeXFormat: FileFormat {
  public let name = "bibtex"
  public let summary = "BibTeX, the bibliography of LaTeX"
  public let fileExtensions = ["bib", "bibtex"]
  public let isWritten = true

  /// Creates the format, which has no settings.
  public init() {}

  public func fits(_ library: any LibraryDescriptor) -> Bool {
    library.isOpaque || library.traits.contains(.publications)
  }

  public func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    var isLineStart = true
    for (offset, byte) in beginning.enumerated() {
      switch byte {
      case 0x0A, 0x0D: isLineStart = true
      case 0x20, 0x09: break
      case UInt8(ascii: "@") where isLineStart && BibTeXParser.beginsEntry(beginning, at: offset): return true
      default: isLineStart = false
      }
    }
    return false
  }

  public func read(
    _ bytes: [UInt8], for library: any LibraryDescriptor
  ) throws(LibraryError) -> FileContents {
    var contents = FileContents()
    var parser = BibTeXParser(bytes)
    var keys: Set<String> = []
    // In BibTeX, any text between entries is a comment; some programs mark comments with %. A file with
    // neither % at its start nor an @ is something else.
    let first = bytes.first { !$0.isASCIIWhiteSpace }
    guard first == nil || first == UInt8(ascii: "%") || bytes.contains(UInt8(ascii: "@")) else {
      throw .invalidAnswer("text without an entry of BibTeX")
    }
    while let piece = parser.next() {
      switch piece {
      case .refusal(let line, let reason): contents.refuse(line: line, reason)
      case .entry(let entry):
        contents.take(line: entry.line) { () throws(LibraryError) in
          let reference = try PaperReference(entry)
          let item = try reference.item()
          if !keys.insert(entry.key).inserted, item.id == entry.key {
            throw .invalidItem("the key \(entry.key) for a second entry")
          }
          return item
        }
      }
    }
    return contents
  }

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    var writer = BibTeXWriter()
    for item in items { writer.append(item) }
    return Array(writer.text.utf8)
  }
}

extension PaperReference {
  /// Extracts a reference from an entry.
  ///
  /// - Throws: `invalidItem` if text is not UTF-8, or if the rest cannot be read.
  init(_ entry: BibTeXEntry) throws(LibraryError) {
    self.init()
    key = entry.key.isEmpty ? nil : entry.key
    title = try entry.text("title")
    summary = try entry.text("abstract")
    authors = try entry.raw("author").map(BibTeXAuthors.names) ?? []
    categories = try entry.text("keywords").map(Self.keywords) ?? []
    doi = try entry.address("doi").flatMap(Self.doi)
    for name in ["url", "pdf", "link", "ee", "bdsk-url-1"] {
      if let address = try entry.address(name) { takeLink(address) }
    }
    try takeDates(entry)
    try takeArXiv(entry)
    note = try entry.text(firstOf: ["annote", "annotation", "comment", "review"])
    if let text = try entry.raw(ItemRest.name) { rest = try ItemRest("{\(text)}") }
  }

  private static func keywords(_ text: String) -> [String] {
    text.split { $0 == "," || $0 == ";" }.map { $0.withoutOuterWhiteSpace }.filter { !$0.isEmpty }
  }

  private mutating func takeDates(_ entry: BibTeXEntry) throws(LibraryError) {
    publishedDate = try entry.text("date").flatMap(ReferenceDate.init)
    if publishedDate == nil, let year = try entry.text("year").flatMap({ ReferenceDate($0) }) {
      let month = try entry.text("month").flatMap(ReferenceDate.month)
      let day = month == nil ? nil : try entry.text("day").flatMap { Int($0) }
      let number = year.numbers[0]
      publishedDate =
        ReferenceDate(year: number, month: month, day: day) ?? ReferenceDate(year: number, month: month)
        ?? year
    }
    updatedDate = try entry.text("updated").flatMap(ReferenceDate.init)
    // The current and the former name in JabRef, the name in BibDesk, then the day on which the address was
    // visited.
    for name in ["timestamp", "creationdate", "date-added", "urldate"] where favoritedDate == nil {
      favoritedDate = try entry.text(name).flatMap(ReferenceDate.init)
    }
  }

  private mutating func takeArXiv(_ entry: BibTeXEntry) throws(LibraryError) {
    var candidates: [ArXivIdentifier?] = []
    let archive = try entry.text(firstOf: ["archiveprefix", "eprinttype"]) ?? "arxiv"
    if archive.lowercased() == "arxiv", let eprint = try entry.address("eprint") {
      let primaryClass = try entry.text(firstOf: ["primaryclass", "eprintclass"])
      candidates.append(ArXivIdentifier(eprint: eprint, primaryClass: primaryClass))
    }
    for name in ["arxivid", "arxiv"] {
      candidates.append(try entry.address(name).flatMap { ArXivIdentifier(eprint: $0, primaryClass: nil) })
    }
    for name in [
      "url", "doi", "pdf", "link", "ee", "journal", "journaltitle", "number", "howpublished", "note",
    ] {
      candidates.append(try entry.address(name).flatMap(ArXivIdentifier.first))
    }
    // DBLP writes: journal = {CoRR}, volume = {abs/1706.03762}.
    if let volume = try entry.address("volume"), volume.hasPrefix("abs/") {
      candidates.append(ArXivIdentifier(volume.dropFirst(4)))
    }
    takeArXiv(candidates)
  }
}
