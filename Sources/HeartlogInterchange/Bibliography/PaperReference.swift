import Heartlog
import HeartlogEvents
import HeartlogLibraries

/// A paper as bibliographies describe it: what stands between a record of a file and an item.
struct PaperReference: Sendable {
  /// What the file calls the record: a citation key.
  var key: String?
  var arXiv: ArXivIdentifier?
  /// Without an address before it: "10.1000/xyz".
  var doi: String?
  var title: String?
  var summary: String?
  /// As papers show them: "Ludwig van Beethoven".
  var authors: [String] = []
  var categories: [String] = []
  var publishedDate: ReferenceDate?
  var updatedDate: ReferenceDate?
  var link: String?
  var pdf: String?
  var note: String?
  /// The day or the time at which it came into somebody's bibliography.
  var favoritedDate: ReferenceDate?
  /// What the other parts do not tell, where this program wrote the record.
  var rest: ItemRest?

  init() {}

  /// What bibliographies can say of an item.
  init(_ item: FileItem) {
    func text(_ name: String) -> String? {
      if case .string(let text)? = item[name] { text } else { nil }
    }
    func texts(_ name: String) -> [String] {
      guard case .json(let json)? = item[name] else { return [] }
      return (json.value.array ?? []).compactMap(\.string)
    }
    func date(_ name: String) -> ReferenceDate? {
      text(name).flatMap { try? RFC3339.parse($0) }.map { ReferenceDate(time: $0) }
    }
    arXiv = ArXivIdentifier(item.id)
    doi = item.id.hasPrefix("doi:") ? String(item.id.dropFirst(4)) : text("doi")
    title = text("title")
    summary = text("summary")
    authors = texts("authors")
    categories = texts("categories")
    publishedDate = date("publishedDate")
    updatedDate = date("updatedDate")
    link = text("linkURL")
    pdf = text("pdfURL")
    note = text("@note")
    favoritedDate = item.favoritedDate.map { ReferenceDate(time: $0) }
  }

  /// The address of a file, where it is another than that of the page.
  var file: String? { pdf == link ? nil : pdf }

  /// The first category, where it is one of arXiv: "cs.SE".
  var primaryClass: String? {
    categories.first.flatMap { $0.contains(where: \.isWhitespace) ? nil : $0 }
  }

  /// Takes the first identifier that several places tell, with the version that one of them tells of it.
  mutating func takeArXiv(_ candidates: [ArXivIdentifier?]) {
    let found = candidates.compactMap { $0 }
    guard let first = found.first else { return }
    arXiv = found.first { $0.base == first.base && $0.version != nil } ?? first
  }

  /// Takes an address: that of a file by its end, else that of a page.
  mutating func takeLink(_ address: String) {
    guard address.lowercased().hasPrefix("http") else { return }
    if address.contains("//arxiv.org/pdf/") || address.lowercased().hasSuffix(".pdf") {
      pdf = pdf ?? address
    } else {
      link = link ?? address
    }
  }

  /// The DOI of a field, or of an address; nil for what is none. Those that arXiv gives to its papers say what their identifiers say.
  static func doi(_ text: String) -> String? {
    let text = text.withoutOuterWhiteSpace
    let start = text.lowercased().hasPrefix("10.") ? text.startIndex : text.firstRange(of: "10.")?.lowerBound
    guard let start else { return nil }
    let before = text[..<start].lowercased()
    let isNamed = before.isEmpty || before.hasSuffix("doi.org/") || before.hasPrefix("doi:")
    let doi = String(text[start...])
    guard isNamed, doi.contains("/"), !doi.contains(where: \.isWhitespace) else { return nil }
    return doi.lowercased().hasPrefix("10.48550/arxiv.") ? nil : doi
  }
}
