import Heartlog
import HeartlogLibraries

/// BibTeX, as read and written by LaTeX, biblatex, JabRef, BibDesk, Zotero and Google Scholar.
///
/// `crossref` inherits nothing.
struct BibTeXFormat: FileFormat {
  let name = "bibtex"
  let summary = "BibTeX, the bibliography of LaTeX"
  let fileExtensions = ["bib", "bibtex"]
  let isWritten = true

  func fits(_ library: any LibraryDescriptor) -> Bool { library.mayHold(.publications) }

  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
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

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
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

  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
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
    let month = try entry.text("month").flatMap(ReferenceDate.month(in:)).map { FileDate.months[$0 - 1] }
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

/// Writes items as entries of a BibTeX file, each value on one line.
struct BibTeXWriter {
  private var keys: Set<String> = []
  /// The last number added to keys with the same beginning.
  private var numbers: [String: Int] = [:]

  /// Entries from which the items can be restored exactly.
  static func text(_ items: [FileItem]) -> String {
    var writer = BibTeXWriter()
    let references = ReferenceRecords.references(to: items, key: { writer.key(for: $0) }) { reference in
      var parser = BibTeXParser(Array(entry(reference).utf8))
      guard case .entry(let entry)? = parser.next() else { return nil }
      return try? PaperReference(entry)
    }
    return references.map(entry).joined(separator: "\n")
  }

  /// Far fewer characters than are looked at to tell whether an entry begins on a line. Longer ids are in the rest.
  private static let keyCharactersMax = 128

  /// A key that LaTeX accepts and that no other entry has.
  private mutating func key(for id: String) -> String {
    let plain = String(
      id.unicodeScalars.prefix(Self.keyCharactersMax).map { scalar in
        let isPlain = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
        return isPlain || "-_.:/+".unicodeScalars.contains(scalar) ? Character(scalar) : "-"
      })
    var key = plain
    while !keys.insert(key.lowercased()).inserted {
      numbers[plain, default: 1] += 1
      key = "\(plain)-\(numbers[plain, default: 1])"
    }
    return key
  }

  private static func entry(_ reference: PaperReference) -> String {
    var entry = "@misc{\(reference.key ?? ""),\n"
    func add(_ name: String, _ value: String?) {
      if let value, !value.isEmpty { entry += "  \(name) = {\(value)},\n" }
    }
    add("title", reference.title.map(LaTeXText.encoded))
    add("author", reference.authors.isEmpty ? nil : BibTeXAuthors.value(reference.authors))
    if let date = reference.publishedDate {
      add("date", time(date.time))
      add("year", String(RFC3339.text(date.time).prefix(4)))
      entry += "  month = \(FileDate.months[date.numbers[1] - 1]),\n"
    }
    add("updated", reference.updatedDate.map { time($0.time) })
    if let arXiv = reference.arXiv {
      add("eprint", arXiv.text)
      add("archiveprefix", "arXiv")
      add("primaryclass", reference.primaryClass.map(LaTeXText.encoded))
    }
    add("doi", reference.doi.map(LaTeXText.encodedAddress))
    add("url", reference.link.map(LaTeXText.encodedAddress))
    let usual = reference.arXiv.map { "https://arxiv.org/pdf/\($0.text)" }
    add("pdf", reference.file == usual ? nil : reference.file.map(LaTeXText.encodedAddress))
    add("keywords", reference.categories.map(LaTeXText.encoded).joined(separator: ", "))
    add("abstract", reference.summary.map(LaTeXText.encoded))
    add("annote", reference.note.map(LaTeXText.encoded))
    add("timestamp", reference.favoritedDate.map { RFC3339.text($0.time) })
    // The braces of the object become those of the value. Braces in strings must not be counted.
    add(ItemRest.name, reference.rest.map { String(withoutBracesInStrings($0.text).dropFirst().dropLast()) })
    return entry + "}\n"
  }

  /// A time in the form that biblatex reads, with milliseconds if they are not zero.
  private static func time(_ time: Milliseconds) -> String {
    let text = RFC3339.text(time)
    return text.hasSuffix(".000Z") ? text.dropLast(5) + "Z" : text
  }

  private static func withoutBracesInStrings(_ json: String) -> String {
    var output = ""
    var isString = false
    var isEscaped = false
    for scalar in json.unicodeScalars {
      switch scalar {
      case "{" where isString: output += "\\u007b"
      case "}" where isString: output += "\\u007d"
      default: output.unicodeScalars.append(scalar)
      }
      if scalar == "\"", !isEscaped { isString.toggle() }
      isEscaped = scalar == "\\" && !isEscaped
    }
    return output
  }
}

/// The names in a BibTeX field: `Ramírez, Aurora and {Company, Inc.} and Blaha, Jr., Stephen`.
enum BibTeXAuthors {
  /// The names in display form, without "and others".
  static func names(_ value: String) -> [String] {
    var names: [String] = []
    for part in parts(value) where part.isGroup || !part.raw.isEmpty {
      if part.isGroup {
        names.append(LaTeXText.decoded(part.raw))
      } else if let name = extendedName(part.pieces) {
        if !name.isEmpty { names.append(name) }
      } else if part.raw.lowercased() != "others" {
        names.append(PersonName(parts: part.pieces.map(LaTeXText.decoded)).display)
      }
    }
    return names
  }

  /// The name in biblatex's form `family=Hakim, given=Tawfiq, prefix=al-, useprefix=true`; empty for options of
  /// the whole list, which stand in the place of a name; `nil` for any other form.
  private static func extendedName(_ pieces: [String]) -> String? {
    var parts: [String: String] = [:]
    for piece in pieces {
      // Quotation marks keep together a value, or the whole of a part.
      let text = piece.withoutOuterWhiteSpace.filter { $0 != "\"" }
      guard let sign = text.firstIndex(of: "="),
        text[..<sign].allSatisfy({ $0.isLetter || $0 == "-" || $0 == " " })
      else {
        guard parts.isEmpty else { continue }
        return nil
      }
      parts[text[..<sign].withoutOuterWhiteSpace.lowercased()] = LaTeXText.decoded(
        String(text[text.index(after: sign)...]))
    }
    let isOption = parts.keys.allSatisfy { listOptions.contains($0) || $0.hasSuffix("templatename") }
    guard isOption || parts["family"] != nil || parts["given"] != nil else { return nil }
    return PersonName.joined(
      ["given", "middle", "prefix", "family", "suffix"].compactMap { parts[$0] }.filter { !$0.isEmpty })
  }

  private static let listOptions: Set<String> = [
    "useprefix", "uniquename", "nohashothers", "nosortothers", "noroman", "xdata",
  ]

  static func value(_ names: [String]) -> String {
    names.map { display in
      let name = PersonName(display: display)
      let words = [name.family, name.suffix, name.given].filter { !$0.isEmpty }.map(LaTeXText.encoded)
      // Braces keep together a name of several words, or an empty one.
      let isWhole = name.isLiteral || words.isEmpty
      return isWhole ? "{\(words.joined())}" : words.joined(separator: ", ")
    }.joined(separator: " and ")
  }

  private struct Part {
    /// Without surrounding white space, and without the braces around a group.
    var raw: String
    var isGroup: Bool
    /// The text between commas outside of braces.
    var pieces: [String]
  }

  private static func parts(_ value: String) -> [Part] {
    let bytes = Array(value.utf8)
    var parts: [Part] = []
    var depth = 0
    var start = 0
    var commas: [Int] = []
    func finish(_ end: Int) {
      var pieces: [String] = []
      var from = start
      for comma in commas + [end] {
        pieces.append(String(decoding: bytes[from..<comma], as: UTF8.self))
        from = comma + 1
      }
      let raw = bytes[start..<end].withoutOuterWhiteSpace
      let isGroup = raw.first == UInt8(ascii: "{") && raw.closesAtEnd
      parts.append(
        Part(
          raw: String(decoding: isGroup ? raw.dropFirst().dropLast() : raw, as: UTF8.self), isGroup: isGroup,
          pieces: pieces))
      commas = []
    }
    var offset = 0
    while offset < bytes.count {
      switch bytes[offset] {
      // A space after a backslash does not separate names.
      case UInt8(ascii: "\\") where offset + 1 < bytes.count && bytes[offset + 1] == 0x20: offset += 1
      case UInt8(ascii: "{"): depth += 1
      case UInt8(ascii: "}"): depth -= 1
      case UInt8(ascii: ",") where depth == 0: commas.append(offset)
      case 0x20, 0x09, 0x0A, 0x0D:
        let word = bytes[(offset + 1)...].prefix(4)
        if depth == 0, word.count == 4, word.last.map({ $0 <= 0x20 }) == true,
          word.prefix(3).map({ $0 | 0x20 }) == Array("and".utf8)
        {
          finish(offset)
          start = offset + 4
          // The white space after this "and" may also be the one before the next "and".
          offset += 3
        }
      default: break
      }
      offset += 1
    }
    finish(bytes.count)
    return parts
  }
}

extension ArraySlice<UInt8> {
  /// Whether the group that begins the slice also ends it.
  fileprivate var closesAtEnd: Bool {
    var depth = 0
    for offset in indices {
      if self[offset] == UInt8(ascii: "{") { depth += 1 }
      if self[offset] == UInt8(ascii: "}") { depth -= 1 }
      if depth == 0 { return offset == endIndex - 1 }
    }
    return false
  }
}
