import Heartlog
import HeartlogEvents
import HeartlogLibraries

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension PaperReference {
  /// The item that a record is.
  ///
  /// Its id is the identifier of arXiv, with the version if one is told; else `doi:` and the DOI in lower case; else the record's key;
  /// else its address. What makes a `Paper` and is not told, or only to the day, comes as defaults: it holds where the store knows
  /// nothing else.
  ///
  /// - Throws: `invalidItem` for a record without any of these, and for a rest that cannot be read.
  func item() throws(LibraryError) -> FileItem {
    guard let id = arXiv?.text ?? doi.map({ "doi:\($0.lowercased())" }) ?? key ?? link ?? pdf else {
      throw .invalidItem("a record without an arXiv identifier, a DOI, a key or an address")
    }
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

  /// What an app cannot do without, of a record that does not tell it.
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
      // Where there is no file, the page is what can be opened.
      let page = [link, doi.map { "https://doi.org/\($0)" }, pdf].compactMap { $0.flatMap(Self.address) }
        .first
      add("linkURL", page)
      add("pdfURL", page)
    }
    return fields
  }

  /// An address that apps can read; nil for any other.
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
  /// The month of the submission, which every identifier tells.
  var month: ReferenceDate? {
    let digits = (base.split(separator: "/").last ?? "").prefix(4)
    guard let year = Int(digits.prefix(2)), let month = Int(digits.suffix(2)) else { return nil }
    return ReferenceDate(year: year + (year > 90 ? 1_900 : 2_000), month: month)
  }
}
