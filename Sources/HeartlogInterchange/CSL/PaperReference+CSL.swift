import HeartlogEvents
import HeartlogLibraries

extension PaperReference {
  /// - Throws: `invalidItem` for what is no object, and for a rest that cannot be read.
  init(csl json: JSONValue) throws(LibraryError) {
    guard json.object != nil else { throw .invalidItem("\(json.kind), no item of CSL-JSON") }
    self.init()
    /// The text of a variable, numbers among them.
    func text(_ name: String) -> String? {
      switch json[name] {
      case .string(let text)?: text.isEmpty ? nil : text
      case .int64(let number)?: String(number)
      default: nil
      }
    }
    key = text("id")
    title = text("title")
    summary = text("abstract")
    authors = (json["author"]?.array ?? []).compactMap(Self.name)
    // Some programs write a list.
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

  /// As an item of CSL-JSON.
  var csl: JSONValue {
    var members: [JSONMember] = []
    func add(_ name: String, _ value: JSONValue?) {
      if let value { members.append(JSONMember(name, value)) }
    }
    func add(_ name: String, _ text: String?) { if let text, !text.isEmpty { add(name, .string(text)) } }
    add("id", key)
    // Preprints are articles without a journal.
    add("type", "article")
    add("title", title)
    if !authors.isEmpty { add("author", .array(authors.map { Self.json(PersonName(display: $0)) })) }
    add("issued", publishedDate.map(Self.json))
    if let arXiv {
      add("publisher", "arXiv")
      add("number", "arXiv:\(arXiv.text)")
    }
    add("DOI", doi)
    add("URL", link)
    add("keyword", categories.joined(separator: ", "))
    add("abstract", summary)
    add("note", note)
    add("accessed", favoritedDate.map(Self.json))
    add("custom", rest.map { .object([JSONMember(ItemRest.name, $0.json)]) })
    return .object(members)
  }

  private static func name(_ json: JSONValue) -> String? {
    if let literal = json["literal"]?.string ?? json.string { return literal }
    let order = ["given", "dropping-particle", "non-dropping-particle", "family", "suffix"]
    let parts = order.compactMap { json[$0]?.string }.filter { !$0.isEmpty }
    return parts.isEmpty ? nil : parts.joined(separator: " ")
  }

  private static func json(_ name: PersonName) -> JSONValue {
    if name.isLiteral || name.given.isEmpty { return .object([JSONMember("literal", .string(name.family))]) }
    var members = [JSONMember("family", .string(name.family)), JSONMember("given", .string(name.given))]
    let words = name.family.split(separator: " ")
    if let last = words.last, words.count > 1 {
      members[0] = JSONMember("family", .string(String(last)))
      members.append(JSONMember("non-dropping-particle", .string(words.dropLast().joined(separator: " "))))
    }
    if !name.suffix.isEmpty { members.append(JSONMember("suffix", .string(name.suffix))) }
    return .object(members)
  }

  private static func date(_ json: JSONValue) -> ReferenceDate? {
    let numbers = (json["date-parts"]?.array?.first?.array ?? []).compactMap { part in
      part.int64.flatMap { Int(exactly: $0) } ?? part.string.flatMap { Int($0) }
    }
    if let year = numbers.first {
      let month = numbers.dropFirst().first
      return ReferenceDate(year: year, month: month, day: month == nil ? nil : numbers.dropFirst(2).first)
        ?? ReferenceDate(year: year)
    }
    return (json["raw"]?.string ?? json["literal"]?.string ?? json.string).flatMap { ReferenceDate($0) }
  }

  private static func json(_ date: ReferenceDate) -> JSONValue {
    .object([JSONMember("date-parts", .array([.array(date.numbers.map { .int64(Int64($0)) })]))])
  }

  /// A note without the lines in which programs keep identifiers: "arXiv:2006.08594 [cs]", "_eprint: 2006.08594".
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
