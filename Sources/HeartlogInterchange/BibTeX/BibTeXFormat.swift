import Heartlog
import HeartlogFormat
import HeartlogLibraries

/// BibTeX, as read and written by LaTeX, biblatex, JabRef, BibDesk, Zotero and Google Scholar.
///
/// `crossref` inherits nothing.
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
    var records = ReferenceRecords()
    var parser = BibTeXParser(bytes)
    while let piece = parser.next() {
      switch piece {
      case .refusal(let line, let reason): records.refuse(line: line, reason)
      case .commentedEntry(let line): records.remark(line: line, "an entry in a comment, which is left out")
      case .entry(let entry):
        records.add(line: entry.line) { () throws(LibraryError) in try PaperReference(entry) }
      }
    }
    // In BibTeX, any text between entries is a comment. A file of nothing else is something else.
    guard parser.hasPieces || Self.isComment(bytes) else {
      throw .invalidAnswer("text without an entry of BibTeX")
    }
    return try records.items()
  }

  /// Whether all lines are blank or marked as comments with %.
  private static func isComment(_ bytes: [UInt8]) -> Bool {
    bytes.split { $0 == 0x0A || $0 == 0x0D }
      .allSatisfy { line in (line.first { !$0.isASCIIWhiteSpace } ?? UInt8(ascii: "%")) == UInt8(ascii: "%") }
  }

  public func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    Array(BibTeXWriter.text(items).utf8)
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
    let month = try entry.text("month").flatMap(ReferenceDate.month(in:)).map { ReferenceDate.months[$0 - 1] }
    let year = try entry.text("year")
    var texts = try [entry.text("date"), year].compactMap { $0 }
    if let month {
      texts.append(try [entry.text("day"), month, year].compactMap { $0 }.joined(separator: " "))
    }
    publishedDate = ReferenceDate(mostExactOf: texts)
    updatedDate = try entry.text("updated").flatMap { ReferenceDate($0) }
    // The current and the former name in JabRef, the names in BibDesk and BibSonomy, then the day on which the
    // address was visited.
    for name in ["timestamp", "creationdate", "date-added", "added-at", "urldate"] where favoritedDate == nil
    {
      favoritedDate = try entry.text(name).flatMap { ReferenceDate($0) }
    }
  }

  private mutating func takeArXiv(_ entry: BibTeXEntry) throws(LibraryError) {
    var candidates: [ArXivIdentifier?] = []
    let archive = try entry.text(firstOf: ["archiveprefix", "eprinttype"]) ?? "arxiv"
    if archive.lowercased() == "arxiv", let eprint = try entry.address("eprint") {
      let primaryClass = try entry.text(firstOf: ["primaryclass", "eprintclass"])
      let identifier = ArXivIdentifier(eprint: eprint, primaryClass: primaryClass)
      candidates.append(identifier)
      if identifier != nil, let primaryClass,
        !categories.contains(where: { $0.hasSameBytes(as: primaryClass) })
      {
        categories.insert(primaryClass, at: 0)
      }
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
