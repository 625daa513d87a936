import Heartlog
import HeartlogLibraries

/// The records of a bibliography. Which of them are the same paper is decided before any becomes an item.
///
/// Of several records of one paper, the last one counts, whole. Different papers under one key get derived ids.
struct ReferenceRecords {
  private struct Paper {
    var line: Int
    var reference: PaperReference
  }

  private var papers: [Paper] = []
  /// The index of the paper to which an identity belongs.
  private var indices: [UTF8Key: Int] = [:]
  private(set) var contents = FileContents()

  /// Adds the record that `read` returns, or refuses it with the error that it throws.
  mutating func add(line: Int, _ read: () throws(LibraryError) -> PaperReference) {
    do throws(LibraryError) {
      let reference = try read()
      guard try reference.givenID() != nil || reference.title != nil else {
        throw .invalidItem("a record without an identifier, an address or a title")
      }
      let identities = try reference.identities()
      let same = identities.compactMap { indices[$0] }.first {
        !papers[$0].reference.differs(from: reference)
      }
      if let same {
        remarkRepetition(of: papers[same].line, on: line)
        papers[same] = Paper(line: line, reference: reference)
      } else {
        papers.append(Paper(line: line, reference: reference))
      }
      for identity in identities { indices[identity] = same ?? papers.count - 1 }
    } catch {
      contents.refuse(line: line, error.description)
    }
  }

  mutating func refuse(line: Int, _ reason: String) { contents.refuse(line: line, reason) }

  mutating func remark(line: Int, _ text: String) { contents.remark(line: line, text) }

  private mutating func remarkRepetition(of line: Int, on last: Int) {
    contents.remark(line: line, "the same paper as on line \(last), which is imported instead")
  }

  /// The items of all papers, the refusals and the remarks.
  func items() throws(LibraryError) -> FileContents {
    var records = self
    var ids: [String] = []
    var counts: [UTF8Key: Int] = [:]
    for paper in papers {
      let id = try paper.reference.id()
      ids.append(id)
      counts[UTF8Key(id), default: 0] += 1
    }
    var last: [UTF8Key: Int] = [:]
    for (index, paper) in papers.enumerated() {
      if counts[UTF8Key(ids[index])] != 1, try !paper.reference.isIdentified {
        let derived = paper.reference.derivedID
        if derived != ids[index] {
          records.remark(
            line: paper.line, "\(ids[index]) is the key of different papers; this one has the id \(derived)")
        }
        ids[index] = derived
      }
      last[UTF8Key(ids[index])] = index
    }
    for (index, paper) in papers.enumerated() {
      if let other = last[UTF8Key(ids[index])], other != index {
        records.remarkRepetition(of: paper.line, on: papers[other].line)
      } else {
        records.contents.take(line: paper.line) { () throws(LibraryError) in
          try paper.reference.item(id: ids[index])
        }
      }
    }
    return records.contents
  }

  /// The references from whose records exactly these items are read.
  ///
  /// - Parameters:
  ///   - key: the citation key for an id.
  ///   - read: reads what a format writes for a reference.
  static func references(
    to items: [FileItem], key: (String) -> String = { $0 }, readAs read: (PaperReference) -> PaperReference?
  ) -> [PaperReference] {
    var references = items.map { item in
      var reference = PaperReference(item)
      reference.key = key(item.id)
      return reference
    }
    for (index, rest) in rests(of: items, readAs: references.map(read)).enumerated() {
      references[index].rest = rest
    }
    return references
  }

  /// What the record of each item must hold beyond its format so that exactly this item is read.
  ///
  /// - Parameter references: what is read from the records of the items without it.
  static func rests(of items: [FileItem], readAs references: [PaperReference?]) -> [ItemRest?] {
    let identities = references.map { (try? $0?.identities()) ?? [] }
    var counts: [UTF8Key: Int] = [:]
    for identity in identities.joined() { counts[identity, default: 0] += 1 }
    return items.indices.map { index in
      let restored = try? references[index]?.item()
      // What is another item's, too, would make one paper of both.
      let isShared = identities[index].contains { counts[$0] != 1 }
      return ItemRest(from: restored, to: items[index], withID: isShared)
    }
  }
}

extension PaperReference {
  /// The id that the record of another program, or this program, gives the paper; `nil` if there is none.
  fileprivate func givenID() throws(LibraryError) -> String? {
    if let id = try rest?.id() { return id }
    return [identifier, key, link, pdf].compactMap { $0 }.first { (try? NameRules.checkItem($0)) != nil }
  }

  /// The id of the paper, if no other paper of the file has it.
  func id() throws(LibraryError) -> String { try givenID() ?? derivedID }

  /// The arXiv identifier, or the DOI.
  private var identifier: String? { arXiv?.text ?? doi.map { "doi:\($0.lowercased())" } }

  /// Whether the id is one that no other paper can have.
  fileprivate var isIdentified: Bool {
    get throws(LibraryError) { try rest?.id() != nil || identifier != nil }
  }

  /// What two records of one paper have in common: an identifier, or the title together with a key or an address.
  fileprivate func identities() throws(LibraryError) -> [UTF8Key] {
    if let id = try rest?.id() { return [UTF8Key("id \(id)")] }
    let title = identityText
    var identities: [String] = []
    if let arXiv { identities.append("arXiv \(arXiv.text)") }
    if let doi { identities.append("doi \(doi.lowercased())") }
    if let key { identities.append("key \(key) \(title)") }
    for address in [link, pdf] {
      if let address { identities.append("address \(address) \(title)") }
    }
    if identities.isEmpty { identities.append("derived \(derivedID)") }
    return identities.map(UTF8Key.init)
  }

  /// Whether the identifiers show that this is another paper, whatever else is equal.
  fileprivate func differs(from other: PaperReference) -> Bool {
    if let arXiv, let its = other.arXiv { return arXiv != its }
    if let doi, let its = other.doi { return doi.lowercased() != its.lowercased() }
    return false
  }

  /// An id made of the title, the family name of the first author, and the year. It is the same in each format.
  fileprivate var derivedID: String {
    let family = authors.first.map { PersonName(display: $0).family.withoutMarks } ?? ""
    let year = publishedDate.map { String($0.numbers[0]) } ?? ""
    let digest = SHA256Hasher.digest(of: Array("\(identityText)\n\(family)\n\(year)".utf8))
    return "ref:\(digest.description.prefix(20))"
  }

  /// The title without what formats write differently; without a title, everything else.
  private var identityText: String {
    guard let title else {
      return (authors + [summary, note, link, pdf, publishedDate?.dayText].compactMap { $0 })
        .joined(separator: "\n")
    }
    let plain = title.withoutMarkup.withoutMarks
    return plain.isEmpty ? title : plain
  }
}

extension String {
  /// Letters and digits only, in lower case and without accents.
  fileprivate var withoutMarks: String {
    var text = String.UnicodeScalarView()
    for scalar in lowercased().decomposed
    where scalar.properties.generalCategory != .nonspacingMark
      && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
    {
      text.append(scalar)
    }
    return String(text)
  }

  /// The text without the markup that titles have in CSL-JSON and in databases: `<i>`, `</sub>`, `&amp;`.
  fileprivate var withoutMarkup: String {
    let names = ["b", "i", "u", "em", "strong", "sub", "sup", "sc", "scp", "span", "p"]
    var text = ""
    for (index, piece) in split(separator: "<", omittingEmptySubsequences: false).enumerated() {
      let tag = piece.drop { $0 == "/" }.prefix { $0.isLetter }.lowercased()
      if index > 0, names.contains(tag), let end = piece.firstIndex(of: ">") {
        text += piece[piece.index(after: end)...]
      } else {
        text += piece
      }
    }
    for entity in ["&amp;", "&lt;", "&gt;", "&quot;"] where text.contains("&") {
      text = text.replacing(entity, with: "")
    }
    return text
  }
}
