import Heartlog
import HeartlogFormat
import HeartlogLibraries

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A paper as bibliographies describe it: the intermediate form between a record of a file and an item.
struct PaperReference: Sendable {
  /// The citation key of the record in the file.
  var key: String?
  var arXiv: ArXivIdentifier?
  /// Without an address in front: "10.1000/xyz".
  var doi: String?
  var title: String?
  var summary: String?
  /// In display form: "Ludwig van Beethoven".
  var authors: [String] = []
  var categories: [String] = []
  var publishedDate: ReferenceDate?
  var updatedDate: ReferenceDate?
  var link: String?
  var pdf: String?
  var note: String?
  /// The day or time at which the paper was added to a bibliography.
  var favoritedDate: ReferenceDate?
  /// What the other properties do not express, if this program wrote the record.
  var rest: ItemRest?

  init() {}

  /// Extracts what bibliographies can express from an item.
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

  /// The address of the PDF, if it differs from that of the page.
  var file: String? { pdf == link ? nil : pdf }

  /// The first category, if it is one of arXiv: "cs.SE".
  var primaryClass: String? {
    categories.first.flatMap { $0.contains(where: \.isWhitespace) ? nil : $0 }
  }

  /// Takes the first identifier found, with a version if any of the candidates has one.
  mutating func takeArXiv(_ candidates: [ArXivIdentifier?]) {
    let found = candidates.compactMap { $0 }
    guard let first = found.first else { return }
    arXiv = found.first { $0.base == first.base && $0.version != nil } ?? first
  }

  /// Takes an address, as that of a PDF if it looks like one, otherwise as that of a page.
  mutating func takeLink(_ address: String) {
    guard address.lowercased().hasPrefix("http") else { return }
    if address.contains("//arxiv.org/pdf/") || address.lowercased().hasSuffix(".pdf") {
      pdf = pdf ?? address
    } else {
      link = link ?? address
    }
  }

  /// The DOI in a field or an address; `nil` if there is none, and for the DOIs that arXiv assigns, which
  /// only repeat its identifiers.
  static func doi(_ text: String) -> String? {
    var text = text.withoutOuterWhiteSpace
    for (entity, sign) in [("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")] where text.contains("&") {
      text = text.replacing(entity, with: sign)
    }
    let start = text.lowercased().hasPrefix("10.") ? text.startIndex : text.firstRange(of: "10.")?.lowerBound
    guard let start else { return nil }
    let before = text[..<start].lowercased()
    let isNamed = before.isEmpty || before.hasSuffix("doi.org/") || before.hasPrefix("doi:")
    let doi = String(text[start...])
    guard isNamed, doi.contains("/"), !doi.contains(where: \.isWhitespace) else { return nil }
    return doi.lowercased().hasPrefix("10.48550/arxiv.") ? nil : doi
  }
}

extension PaperReference {
  /// Creates the item for a record that names its paper, or has a title. Required fields of a `Paper` that the
  /// record lacks, and dates without a time of day, become defaults: they apply only if the store has no value.
  ///
  /// - Parameter id: the id of the item; `nil` for the one that the record would have alone.
  /// - Throws: `invalidItem` if its rest cannot be read.
  func item(id: String? = nil) throws(LibraryError) -> FileItem {
    let id: String = if let id { id } else { try self.id() }
    var item = FileItem(id: id, favoritedDate: favoritedDate?.time)
    func told(_ name: String, _ text: String?) {
      if let text { item.fields.append(Field(name: name, value: .string(text))) }
    }
    func told(_ name: String, _ texts: [String]) throws(LibraryError) {
      guard !texts.isEmpty else { return }
      item.fields.append(Field(name: name, value: try Self.list(texts)))
    }
    func told(_ name: String, _ date: ReferenceDate?) {
      guard let date else { return }
      let field = Field(name: name, value: .string(RFC3339.text(date.time)))
      if date.isExact { item.fields.append(field) } else { item.defaults.append(field) }
    }
    told("title", title)
    told("summary", summary)
    try told("authors", authors)
    try told("categories", categories)
    told("publishedDate", publishedDate)
    told("updatedDate", updatedDate)
    told("pdfURL", pdf.flatMap(Self.address))
    told("linkURL", link.flatMap(Self.address))
    told("@note", note)
    if arXiv != nil { told("doi", doi) }

    for field in try defaults() where item.value(of: field.name) == nil { item.defaults.append(field) }
    try rest?.apply(to: &item)
    return item
  }

  /// Default values for the fields that an app requires and a record may lack.
  private func defaults() throws(LibraryError) -> [Field] {
    let nothing = try Self.list([])
    var fields = [
      Field(name: "summary", value: .string("")), Field(name: "authors", value: nothing),
      Field(name: "categories", value: nothing),
    ]
    func add(_ name: String, _ text: String?) {
      if let text { fields.append(Field(name: name, value: .string(text))) }
    }
    if let arXiv {
      add("linkURL", "https://arxiv.org/abs/\(arXiv.text)")
      add("pdfURL", "https://arxiv.org/pdf/\(arXiv.text)")
      add("publishedDate", arXiv.month.map { RFC3339.text($0.time) })
    } else {
      // Without a PDF, the page is opened instead.
      let page = [link, doi.map { "https://doi.org/\($0)" }, pdf].compactMap { $0.flatMap(Self.address) }
        .first
      add("linkURL", page)
      add("pdfURL", page)
    }
    return fields
  }

  /// An address that apps can read; `nil` for any other.
  private static func address(_ text: String) -> String? {
    URL(string: text)?.absoluteString == text ? text : nil
  }

  private static func list(_ texts: [String]) throws(LibraryError) -> FieldValue {
    do {
      return try FieldValue(.array(texts.map(JSONValue.string)))
    } catch {
      throw .invalidItem(error.reason)
    }
  }
}

extension ArXivIdentifier {
  /// The month of the submission, which is part of every identifier.
  var month: ReferenceDate? {
    let digits = (base.split(separator: "/").last ?? "").prefix(4)
    guard let year = Int(digits.prefix(2)), let month = Int(digits.suffix(2)) else { return nil }
    return ReferenceDate(year: year + (year > 90 ? 1_900 : 2_000), month: month)
  }
}
