import HeartlogLibraries

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
