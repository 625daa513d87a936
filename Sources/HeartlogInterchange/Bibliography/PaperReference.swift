import Heartlog
import HeartlogLibraries

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
    func text(_ name: String) -> String? { item[name]?.text }
    func date(_ name: String) -> ReferenceDate? {
      text(name).flatMap { try? RFC3339.parse($0) }.map { ReferenceDate(time: $0) }
    }
    arXiv = ArXivIdentifier(item.id)
    doi = item.id.hasPrefix("doi:") ? String(item.id.dropFirst(4)) : text("doi")
    title = text("title")
    summary = text("summary")
    authors = item["authors"]?.texts ?? []
    categories = item["categories"]?.texts ?? []
    publishedDate = date("publishedDate")
    updatedDate = date("updatedDate")
    link = text("linkURL")
    pdf = text("pdfURL")
    note = text(FavoritesLibrary.noteField)
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
      item.fields.append(Field(name: name, value: try FieldValue(texts: texts)))
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
    told(FavoritesLibrary.noteField, note)
    if arXiv != nil { told("doi", doi) }

    for field in try defaults() where item.value(of: field.name) == nil { item.defaults.append(field) }
    try rest?.apply(to: &item)
    return item
  }

  /// Default values for the fields that an app requires and a record may lack.
  private func defaults() throws(LibraryError) -> [Field] {
    let nothing = try FieldValue(texts: [])
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
}

extension ArXivIdentifier {
  /// The month of the submission, which is part of every identifier.
  var month: ReferenceDate? {
    let digits = (base.split(separator: "/").last ?? "").prefix(4)
    guard let year = Int(digits.prefix(2)), let month = Int(digits.suffix(2)) else { return nil }
    return ReferenceDate(year: year + (year > 90 ? 1_900 : 2_000), month: month)
  }
}

/// The name of an author, split as in bibliographies. Joined again, the parts are the display name.
struct PersonName: Hashable, Sendable {
  /// The given name; empty for a name that is not split: of a group, or of one word.
  var given = ""
  /// The family name with its lower-case particles, "van Beethoven"; the whole of a name that is not split.
  var family: String
  var suffix = ""
  /// Whether the name must not be split, whatever commas and words it contains.
  var isLiteral = false

  /// The display form: given name, family name and suffix, separated by spaces.
  var display: String { [given, family, suffix].filter { !$0.isEmpty }.joined(separator: " ") }

  /// Splits a display name. The family name is the last word, with the lower-case words in front of it.
  init(display: String) {
    let words = display.split(separator: " ", omittingEmptySubsequences: false)
    let isOdd = words.contains { word in
      word.isEmpty || word.lowercased() == "and" || word.contains { $0 == "," || ($0.isWhitespace) }
    }
    guard !isOdd, words.count > 1, let last = words.last else {
      self.init(literal: display)
      isLiteral = isOdd || display.lowercased() == "others"
      return
    }
    guard !Self.groups.contains(last.lowercased()), words[0].lowercased() != "the" else {
      self.init(literal: display)
      return
    }
    let hasSuffix = words.count > 2 && Self.suffixes.contains(String(last))
    let nameEnd = words.count - (hasSuffix ? 1 : 0)
    var familyStart = nameEnd - 1
    while familyStart > 1, words[familyStart - 1].first?.isLowercase == true { familyStart -= 1 }
    self.init(
      given: words[..<familyStart].joined(separator: " "),
      family: words[familyStart..<nameEnd].joined(separator: " "), suffix: hasSuffix ? String(last) : "")
  }

  init(given: String, family: String, suffix: String) {
    self.given = given
    self.family = family
    self.suffix = suffix
  }

  init(literal: String) {
    family = literal
    isLiteral = true
  }

  /// Joins the parts of "Family, Given", "Family, Suffix, Given" or "Given Family".
  ///
  /// - Parameter suffixLast: whether three parts are "Family, Given, Suffix", as in RIS.
  init(parts: [String], suffixLast: Bool = false) {
    let parts = parts.map { $0.withoutOuterWhiteSpace }
    family = parts[0]
    switch parts.count {
    case 1: break
    case 2: given = parts[1]
    default:
      let rest = parts[2...].joined(separator: ", ")
      (given, suffix) = suffixLast ? (parts[1], rest) : (rest, parts[1])
    }
  }

  /// Joins given name, particles and family name. A particle may be a part of the word after it: "al-", "d'".
  static func joined(_ parts: [String]) -> String {
    parts.reduce(into: "") { name, part in
      if let last = name.last, !"-'’".contains(last) { name += " " }
      name += part
    }
  }

  /// Last words in the names of groups, which have no family name.
  private static let groups: Set<String> = [
    "collaboration", "collaborations", "consortium", "group", "team", "project", "community", "institute",
  ]
  private static let suffixes: Set<String> = ["Jr", "Jr.", "Sr", "Sr.", "II", "III", "IV"]
}

/// The part of an item that a record cannot express in its own format, so that the item is restored exactly.
///
/// It is a JSON object with `id`, `favoritedDate`, `isFavorite` and `fields`, each only if it differs. In
/// `fields`, null means that the item does not have the field.
struct ItemRest: Sendable {
  let json: JSONValue

  /// The name under which formats store it.
  static let name = "heartlog"

  init(_ json: JSONValue) { self.json = json }

  /// Parses the text of the object.
  init(_ text: String) throws(LibraryError) {
    json = try LibraryError.checking(
      JSONValue.parse(text, depthMax: Limits.jsonDepthMax + 2), in: "\"\(Self.name)\": ")
  }

  var text: String { json.jsonText }

  /// The difference between two items, in which defaults count as fields; `nil` if there is none.
  ///
  /// - Parameter withID: whether it has the id in any case.
  init?(from restored: FileItem?, to item: FileItem, withID: Bool) {
    let hasID = withID || restored?.id.utf8.elementsEqual(item.id.utf8) != true
    let hasDate = restored?.favoritedDate != item.favoritedDate
    let before = (restored?.fields ?? []) + (restored?.defaults ?? [])
    var fields: [JSONMember] = []
    for field in item.fields where !field.value.isNull && !before.contains(field) {
      fields.append(JSONMember(field.name, field.value.jsonValue))
    }
    for field in before where item[field.name] == nil {
      fields.append(JSONMember(field.name, .null))
    }
    let members = [JSONMember].present([
      "id": hasID ? .string(item.id) : nil, "favoritedDate": hasDate ? item.jsonDate ?? .null : nil,
      "isFavorite": item.jsonFlag, "fields": fields.isEmpty ? nil : .object(fields),
    ])
    guard !members.isEmpty else { return nil }
    json = .object(members)
  }

  /// The id; `nil` if the record has it in its own way.
  func id() throws(LibraryError) -> String? {
    switch json["id"] {
    case nil: nil
    case .string(let id): id
    default: throw .invalidItem("\"\(Self.name)\": an \"id\" that is no string")
    }
  }

  func apply(to item: inout FileItem) throws(LibraryError) {
    var told = FileItem(
      id: try id() ?? item.id, favoritedDate: item.favoritedDate, isFavorite: item.isFavorite)
    do throws(LibraryError) {
      guard json.object != nil else { throw .invalidItem("it is \(json.kind), not an object") }
      try told.takeState(of: json)
    } catch {
      throw .invalidItem("\"\(Self.name)\": \(error)")
    }
    // A record has few fields, but each may be one of thousands of members.
    let names = Set(told.fields.map { UTF8Key($0.name) })
    told.fields.removeAll(where: \.value.isNull)
    told.fields = item.fields.filter { !names.contains(UTF8Key($0.name)) } + told.fields
    told.defaults = item.defaults.filter { !names.contains(UTF8Key($0.name)) }
    item = told
  }
}
