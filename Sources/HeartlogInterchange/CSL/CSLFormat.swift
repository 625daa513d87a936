import Heartlog
import HeartlogLibraries

/// CSL-JSON, as read and written by Zotero, pandoc and citation processors: an array of items, or one item.
///
/// Source: https://github.com/citation-style-language/schema, csl-data.json 1.0.2. Its dates are days; times
/// are stored in `custom`.
struct CSLFormat: FileFormat {
  let name = "csl-json"
  let summary = "CSL-JSON, as citation processors read it"
  let fileExtensions = ["json", "csljson"]
  let isWritten = true

  func fits(_ library: any LibraryDescriptor) -> Bool { library.mayHold(.publications) }

  /// Recognizes a first item with one of CSL's types; in a library without a descriptor, also with a date, a name or
  /// `custom` as only CSL writes them.
  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    let document = JSONDocument(beginning)
    guard let list = Self.list(in: document) ?? (document.isObject(document.root) ? document.root : nil),
      let first = document.isArray(list) ? document.elements(of: list).elements.first : list
    else { return false }
    let members = document.members(of: first).members
    guard let type = members["type"].flatMap({ try? document.value($0).string }), Self.types.contains(type)
    else {
      return false
    }
    let isShaped = ["issued", "accessed", "custom"].contains { members[$0].map(document.isObject) == true }
    let isNamed =
      members["author"].map { author in
        document.elements(of: author).elements.first.map { person in
          document.members(of: person).members.contains { ["family", "given", "literal"].contains($0.name) }
        } == true
      } == true
    return !library.isOpaque || isShaped || isNamed
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    let document = JSONDocument(bytes)
    guard document.isArray(document.root) || document.isObject(document.root) else {
      throw .invalidAnswer("JSON that is no array of items")
    }
    var references = ReferenceRecords()
    let list = Self.list(in: document)
    let (records, failure) = list.map { document.elements(of: $0) } ?? ([document.root], nil)
    for record in records {
      references.add(line: record.line) { () throws(LibraryError) in
        try PaperReference(csl: try document.value(record))
      }
    }
    // If a list is cut short, the last record already reports it.
    let isTold = records.last.map { $0.line == references.contents.refusals.last?.line } ?? false
    if let failure, !isTold { references.refuse(line: failure.line, failure.reason) }
    return try references.items()
  }

  /// An array, or the `items` that an object begins with; `nil` for an object that is itself an item.
  private static func list(in document: JSONDocument) -> JSONDocument.Node? {
    if document.isArray(document.root) { return document.root }
    guard let first = document.members(of: document.root).members.first, first.name == "items",
      document.isArray(first.value)
    else { return nil }
    return first.value
  }

  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    let references = ReferenceRecords.references(to: items) { try? PaperReference(csl: $0.csl) }
    return jsonLines(references.map(\.csl))
  }

  private static let types: Set<String> = [
    "article", "article-journal", "article-magazine", "article-newspaper", "bill", "book", "broadcast",
    "chapter", "classic", "collection", "dataset", "document", "entry", "entry-dictionary",
    "entry-encyclopedia", "event", "figure", "graphic", "hearing", "interview", "legal_case", "legislation",
    "manuscript", "map", "motion_picture", "musical_score", "pamphlet", "paper-conference", "patent",
    "performance", "periodical", "personal_communication", "post", "post-weblog", "regulation", "report",
    "review", "review-book", "software", "song", "speech", "standard", "thesis", "treaty", "webpage",
  ]
}

extension PaperReference {
  /// Extracts a reference from an item of CSL-JSON.
  ///
  /// - Throws: `invalidItem` if the value is not an object, or if the rest cannot be read.
  init(csl json: JSONValue) throws(LibraryError) {
    guard json.object != nil else { throw .invalidItem("\(json.kind), no item of CSL-JSON") }
    self.init()
    /// The text of a variable, which may also be a number.
    func text(_ name: String) -> String? {
      switch json[name] {
      case .string(let text)?: text.isEmpty ? nil : text
      case .int64(let number)?: String(number)
      // Crossref writes titles as lists.
      case .array(let texts)?: texts.first?.string
      default: nil
      }
    }
    key = text("id")
    title = text("title")
    summary = text("abstract")
    authors = (json["author"]?.array ?? []).compactMap(Self.name)
    // Some programs write a list instead of a text.
    categories =
      json["keyword"]?.array?.compactMap(\.string)
      ?? text("keyword").map { $0.split { $0 == "," || $0 == ";" }.map { $0.withoutOuterWhiteSpace } } ?? []
    doi = text("DOI").flatMap(Self.doi)
    if let address = text("URL") { takeLink(address) }
    publishedDate = json["issued"].flatMap(Self.date)
    favoritedDate = json["accessed"].flatMap(Self.date)
    let names = ["number", "archive_location", "URL", "DOI", "container-title", "archive", "note", "id"]
    var candidates = names.map { text($0).flatMap(ArXivIdentifier.first) }
    if [text("archive"), text("publisher")].contains(where: { $0?.lowercased() == "arxiv" }) {
      candidates += ["archive_location", "number"].map {
        text($0).flatMap { ArXivIdentifier(eprint: $0, primaryClass: nil) }
      }
    }
    takeArXiv(candidates)
    note = text("note").flatMap(Self.note)
    if let own = json["custom"]?[ItemRest.name] { rest = ItemRest(own) }
  }

  /// The reference as an item of CSL-JSON.
  var csl: JSONValue {
    let names = authors.map { Self.json(PersonName(display: $0)) }
    return .object(
      .present([
        "id": Self.json(key),
        // A preprint is an article without a journal.
        "type": .string("article"),
        "title": Self.json(title), "author": names.isEmpty ? nil : .array(names),
        "issued": publishedDate.map(Self.json), "publisher": arXiv.map { _ in .string("arXiv") },
        "number": arXiv.map { .string("arXiv:\($0.text)") }, "DOI": Self.json(doi), "URL": Self.json(link),
        "keyword": Self.json(categories.joined(separator: ", ")), "abstract": Self.json(summary),
        "note": Self.json(note), "accessed": favoritedDate.map(Self.json),
        "custom": rest.map { .object([JSONMember(ItemRest.name, $0.json)]) },
      ]))
  }

  private static func json(_ text: String?) -> JSONValue? {
    text.flatMap { $0.isEmpty ? nil : .string($0) }
  }

  private static func name(_ json: JSONValue) -> String? {
    if let literal = json["literal"]?.string ?? json.string { return literal }
    let order = ["given", "dropping-particle", "non-dropping-particle", "family", "suffix"]
    let parts = order.compactMap { json[$0]?.string }.filter { !$0.isEmpty }
    return parts.isEmpty ? nil : PersonName.joined(parts)
  }

  private static func json(_ name: PersonName) -> JSONValue {
    if name.isLiteral || name.given.isEmpty { return .object([JSONMember("literal", .string(name.family))]) }
    let words = name.family.split(separator: " ")
    let family = words.count > 1 ? words.last.map(String.init) : nil
    return .object(
      .present([
        "family": .string(family ?? name.family), "given": .string(name.given),
        "non-dropping-particle": json(words.dropLast().joined(separator: " ")),
        "suffix": json(name.suffix),
      ]))
  }

  private static func date(_ json: JSONValue) -> ReferenceDate? {
    let numbers = (json["date-parts"]?.array?.first?.array ?? []).compactMap { part in
      part.int64.flatMap { Int(exactly: $0) } ?? part.string.flatMap { Int($0) }
    }
    if let year = numbers.first {
      let month = numbers.dropFirst().first
      return ReferenceDate(year: year, month: month, day: month == nil ? nil : numbers.dropFirst(2).first)
        ?? ReferenceDate(year: year, month: month) ?? ReferenceDate(year: year)
    }
    return (json["raw"]?.string ?? json["literal"]?.string ?? json.string).flatMap { ReferenceDate($0) }
  }

  private static func json(_ date: ReferenceDate) -> JSONValue {
    .object([JSONMember("date-parts", .array([.array(date.numbers.map { .int64(Int64($0)) })]))])
  }

  /// A note without the lines that programs add for identifiers: "arXiv:2006.08594 [cs]", "_eprint:
  /// 2006.08594".
  private static func note(_ text: String) -> String? {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.contains(where: isIdentifier) else { return text }
    let note = lines.filter { !isIdentifier($0) }.joined(separator: "\n").withoutOuterWhiteSpace
    return note.isEmpty ? nil : note
  }

  private static func isIdentifier(_ line: Substring) -> Bool {
    line.lowercased().hasPrefix("arxiv:") || line.hasPrefix("_eprint")
  }
}
