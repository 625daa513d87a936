import Heartlog
import HeartlogLibraries

/// RIS, as read and written by EndNote, Zotero, Mendeley and publishers, and the tagged text of PubMed and the Web of Science, which is only
/// read. Unknown tags are ignored.
struct RISFormat: FileFormat {
  let name = "ris"
  let summary = "RIS, as reference managers exchange it"
  let fileExtensions = ["ris"]
  let isWritten = true

  func fits(_ library: any LibraryDescriptor) -> Bool { library.mayHold(.publications) }

  func recognizes(_ beginning: [UInt8], for library: any LibraryDescriptor) -> Bool {
    if TaggedText(ofDatabase: beginning) != nil { return true }
    // Some databases write a heading and number the records.
    let lines = beginning.split { $0 == 0x0A || $0 == 0x0D }
    return lines.lazy.compactMap { RISRecord.tag($0.drop(while: \.isASCIIWhiteSpace)) }.first == "TY"
  }

  func read(_ bytes: [UInt8], for library: any LibraryDescriptor) throws(LibraryError) -> FileContents {
    var references = ReferenceRecords()
    let kind = TaggedText(ofDatabase: bytes) ?? .ris
    let (records, strays) = kind.records(bytes)
    let isBlank = bytes.allSatisfy(\.isASCIIWhiteSpace)
    guard isBlank || !records.isEmpty || !strays.isEmpty else {
      throw .invalidAnswer("text without a record of RIS")
    }
    for stray in strays {
      // After the end of a record, what has neither a title nor an author is none.
      let isRecord = stray.tags.contains { ["TI", "T1", "CT", "BT", "AU", "A1"].contains($0.tag) }
      if isRecord || records.first.map({ stray.line < $0.line }) != false {
        references.refuse(line: stray.line, "a record that does not begin with \(kind.start)")
      } else {
        references.remark(
          line: stray.line, "the tag \(stray.tags[0].tag) after the end of a record was left out")
      }
    }
    for record in records {
      references.add(line: record.line) { () throws(LibraryError) in try PaperReference(record) }
    }
    return try references.items()
  }

  func write(_ items: [FileItem], of library: any LibraryDescriptor) throws(LibraryError) -> [UInt8] {
    let references = ReferenceRecords.references(to: items) { reference in
      TaggedText.ris.records(Array(Self.record(reference).utf8)).records.first
        .flatMap { try? PaperReference($0) }
    }
    return Array(references.map(Self.record).joined(separator: "\n").utf8)
  }

  private static func record(_ reference: PaperReference) -> String {
    var record = ""
    func add(_ tag: String, _ value: String?) {
      guard let value, !value.isEmpty else { return }
      record += "\(tag)  - \(lines(value, of: tag))\n"
    }
    // The type UNPB, unpublished work, is the one for preprints.
    record += "TY  - UNPB\n"
    add("ID", reference.key)
    add("TI", reference.title)
    for name in reference.authors.map(PersonName.init(display:)) {
      add("AU", [name.family, name.given, name.suffix].filter { !$0.isEmpty }.joined(separator: ", "))
    }
    add("PY", reference.publishedDate.map { String($0.dayText.prefix(4)) })
    add("DA", reference.publishedDate.map(date))
    if let arXiv = reference.arXiv {
      add("AN", "arXiv:\(arXiv.text)")
      add("PB", "arXiv")
    }
    add("DO", reference.doi)
    for category in reference.categories { add("KW", category) }
    add("UR", reference.link)
    add("L1", reference.file)
    add("AB", reference.summary)
    add("N1", reference.note)
    add("Y2", reference.favoritedDate.map(date))
    if let rest = reference.rest { record += "C8  - \(ItemRest.name):\(onOneLine(rest.text))\n" }
    return record + "ER  - \n"
  }

  /// Removes from a value what would end it. Multi-line values keep their lines unless one looks like a tag.
  private static func lines(_ value: String, of tag: String) -> String {
    let lines = value.split(omittingEmptySubsequences: false) { $0.isNewline }
    let isLined =
      RISRecord.linedTags.contains(tag) && !lines.contains { RISRecord.tag(Array($0.utf8)[...]) != nil }
    return lines.joined(separator: isLined ? "\n" : " ")
  }

  /// Escapes the characters in JSON that some programs take for the end of a line.
  private static func onOneLine(_ json: String) -> String {
    json.unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "\u{85}": text += "\\u0085"
      case "\u{2028}": text += "\\u2028"
      case "\u{2029}": text += "\\u2029"
      default: text.unicodeScalars.append(scalar)
      }
    }
  }

  /// Formats a date as `YYYY/MM/DD/` and the time. The specification allows further text in that position.
  private static func date(_ date: ReferenceDate) -> String {
    let text = RFC3339.text(date.time)
    return "\(text.prefix(10).split(separator: "-").joined(separator: "/"))/\(text.dropFirst(11))"
  }
}

extension PaperReference {
  /// Extracts a reference from a record.
  ///
  /// - Throws: `invalidItem` if text is not UTF-8, or if the rest cannot be read.
  init(_ record: RISRecord) throws(LibraryError) {
    self.init()
    // The number in a database says more than the number in somebody's library.
    let numbers = try record.texts("AN") + record.texts("ID")
    key = numbers.first { ArXivIdentifier.first(in: $0) == nil } ?? numbers.first
    title = try record.text("TI", "T1", "CT", "BT", "ST")
    summary = try record.text("AB", "N2")
    for tag in ["AU", "A1"] {
      authors += try record.texts(tag).map { name in
        let parts = name.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        return PersonName(parts: parts, suffixLast: true).display
      }
    }
    categories = try record.texts("KW")
    doi = try (record.texts("DO") + record.texts("M3")).compactMap(Self.doi).first
    for tag in ["UR", "LK", "L1", "L2"] {
      for address in try record.texts(tag) {
        if tag == "L1", address.lowercased().hasPrefix("http") {
          pdf = pdf ?? address
        } else {
          takeLink(address)
        }
      }
    }
    publishedDate = ReferenceDate(
      mostExactOf: try record.texts("PY") + record.texts("Y1") + record.texts("DA"))
    favoritedDate = try record.text("Y2").flatMap { ReferenceDate($0) }
    let texts =
      try record.texts("AN") + record.texts("UR") + record.texts("L1") + record.texts("DO")
      + record.texts("M1")
    let titles =
      try record.texts("JO") + record.texts("JF") + record.texts("T2") + record.texts("N1")
      + record.texts("ID")
    takeArXiv((texts + titles).map(ArXivIdentifier.first))
    // Some programs write the identifier as a note, which adds nothing.
    let notes = try record.texts("N1").filter { !$0.lowercased().hasPrefix("arxiv:") }
    note = notes.isEmpty ? nil : notes.joined(separator: "\n")
    for text in try record.texts("C8") where text.hasPrefix("\(ItemRest.name):") {
      rest = try ItemRest(String(text.dropFirst(ItemRest.name.count + 1)))
    }
  }
}

/// A record of a RIS file: tags of two characters, each with a value.
struct RISRecord {
  /// The line at which the record begins; the first line is 1.
  let line: Int
  var tags: [(tag: String, value: [UInt8])] = []

  /// The non-empty values of the tags with this name, in order.
  ///
  /// - Throws: `invalidItem` if a value is not UTF-8.
  func texts(_ tag: String) throws(LibraryError) -> [String] {
    var texts: [String] = []
    for (name, value) in tags where name == tag {
      guard let text = String(validating: value, as: UTF8.self) else {
        throw .invalidItem("a value of \(tag) that is not UTF-8")
      }
      if !text.isEmpty { texts.append(text) }
    }
    return texts
  }

  /// The first value of the first of these tags that has one.
  func text(_ tags: String...) throws(LibraryError) -> String? {
    for tag in tags {
      if let text = try texts(tag).first { return text }
    }
    return nil
  }

  /// Tags whose values may have several lines.
  static let linedTags: Set<String> = ["AB", "N1", "N2"]

  /// Splits a file into lines, which end with a line feed, a carriage return, or both.
  static func lines(_ bytes: [UInt8]) -> [ArraySlice<UInt8>] {
    var lines: [ArraySlice<UInt8>] = []
    var start = 0
    for offset in bytes.indices where bytes[offset] == 0x0A || bytes[offset] == 0x0D {
      let isSecondOfPair = bytes[offset] == 0x0A && offset > 0 && bytes[offset - 1] == 0x0D
      if !isSecondOfPair { lines.append(bytes[start..<offset]) }
      start = offset + 1
    }
    if start < bytes.count { lines.append(bytes[start...]) }
    return lines
  }

  /// The tag of a line: `TY  - `, with one to four spaces before the hyphen.
  static func tag(_ line: ArraySlice<UInt8>) -> String? {
    let name = line.prefix(2)
    let rest = line.dropFirst(2)
    let spaces = rest.prefix { $0 == 0x20 }.count
    guard name.count == 2, (0x41...0x5A).contains(name[name.startIndex]),
      name.allSatisfy({ (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) }), (1...4).contains(spaces),
      rest.dropFirst(spaces).first == UInt8(ascii: "-"),
      rest.dropFirst(spaces + 1).first.map({ $0 == 0x20 || $0 == 0x09 }) != false
    else { return nil }
    return String(decoding: name, as: UTF8.self)
  }
}
