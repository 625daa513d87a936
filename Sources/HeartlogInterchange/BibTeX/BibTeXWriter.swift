import Heartlog
import HeartlogFormat
import HeartlogLibraries

/// Writes items as entries of a BibTeX file, each value on one line.
struct BibTeXWriter {
  private var keys: Set<String> = []
  /// The last number added to keys with the same beginning.
  private var numbers: [String: Int] = [:]

  /// Entries from which the items can be restored exactly.
  static func text(_ items: [FileItem]) -> String {
    var writer = BibTeXWriter()
    var references = items.map { item in
      var reference = PaperReference(item)
      reference.key = writer.key(for: item.id)
      return reference
    }
    let read = references.map { reference in
      var parser = BibTeXParser(Array(entry(reference).utf8))
      return if case .entry(let entry)? = parser.next() { try? PaperReference(entry) } else {
        nil as PaperReference?
      }
    }
    for (index, rest) in ReferenceRecords.rests(of: items, readAs: read).enumerated() {
      references[index].rest = rest
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
      entry += "  month = \(ReferenceDate.months[date.numbers[1] - 1]),\n"
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
