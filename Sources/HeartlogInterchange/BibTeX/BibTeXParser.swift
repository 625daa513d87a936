import HeartlogFormat
import HeartlogLibraries

/// Splits a BibTeX file into entries.
///
/// Text between entries is a comment. The parser understands `@string`, `@preamble` and `@comment`; entries
/// in parentheses; and values in braces and quotation marks, numbers, macros, and their concatenation with
/// `#`. Braces are counted as in BibTeX, including those after a backslash. As in biber, `%` outside of values
/// begins a comment that ends with the line. A line that starts like an entry (`@article{key,`) always begins
/// one. So an unclosed entry does not swallow the next, and the time is linear in the size of the file for any
/// input. After an entry that cannot be read, reading continues at the next one, also on the same line.
///
/// Source: Oren Patashnik, "BibTeXing", 1988, and bibtex.web; Greg Ward, btparse.
struct BibTeXParser {
  enum Piece {
    case entry(BibTeXEntry)
    case refusal(line: Int, reason: String)
    /// An entry in a comment, which is skipped.
    case commentedEntry(line: Int)
  }

  let bytes: [UInt8]
  var offset = 0
  /// The latest end of the current piece: the next line that begins an entry, or the end of the file.
  var limit = 0
  /// Whether anything but text and comments without an entry was found.
  private(set) var hasPieces = false
  /// Where the last name begins, if no value was read after it. It may be that of another entry.
  private var nameStart: Int?
  private var lineCounted = 1
  private var lineCountedTo = 0
  /// Keys are names in lower case.
  private var macros: [String: [UInt8]]
  private var macroBytes = 0
  private var expandedBytes = 0

  /// The most bytes that the macros of a file may contain together, and that they may expand to.
  private static let macroBytesMax = 4 << 20
  private static let expandedBytesMax = 64 << 20

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    macros = Dictionary(uniqueKeysWithValues: FileDate.months.map { ($0, Array($0.utf8)) })
  }

  /// The next entry, or a refusal of one that could not be read; `nil` at the end.
  mutating func next() -> Piece? {
    while offset < bytes.count {
      let start = offset
      offset += 1
      if bytes[start] == UInt8(ascii: "%"), start == 0 || bytes[start - 1] != UInt8(ascii: "\\") {
        if let entry = skipLineComment() {
          hasPieces = true
          return .commentedEntry(line: line(of: entry))
        }
      }
      guard bytes[start] == UInt8(ascii: "@") else { continue }
      if offset > limit { limit = nextStart(after: offset, onlyAtLines: true) }
      if let byte = current, byte == 0x20 || byte == 0x09, Self.beginsEntry(bytes, at: start) { skipSpace() }
      guard offset < limit, Self.isLetter(bytes[offset]) else { continue }
      let name = takeName().lowercased()
      do throws(MalformedError) {
        if let entry = try piece(name, at: start) { return .entry(entry) }
      } catch {
        hasPieces = true
        let line = self.line(of: start)
        offset = nextStart(after: nameStart ?? offset, onlyAtLines: false, before: limit)
        return .refusal(line: line, reason: error.reason)
      }
    }
    return nil
  }

  /// Skips the rest of a line, and returns the offset of an entry in it.
  private mutating func skipLineComment() -> Int? {
    let entry = entry(inLineFrom: offset)
    while offset < bytes.count, bytes[offset] != 0x0A, bytes[offset] != 0x0D { offset += 1 }
    return entry
  }

  /// The offset of the first entry in the rest of a line.
  private func entry(inLineFrom start: Int) -> Int? {
    let line = bytes[start...].prefix { $0 != 0x0A && $0 != 0x0D }
    return line.indices.first { bytes[$0] == UInt8(ascii: "@") && Self.beginsEntry(bytes, at: $0) }
  }

  private mutating func piece(_ name: String, at start: Int) throws(MalformedError) -> BibTeXEntry? {
    let nameEnd = offset
    skipSpace()
    guard let open = current, open == UInt8(ascii: "{") || open == UInt8(ascii: "(") else {
      // What follows may be a comment with an entry.
      offset = nameEnd
      // An e-mail address in a comment is not an entry.
      guard isAtLineStart(start), name != "comment" else { return nil }
      throw MalformedError("no \"{\" after @\(name)")
    }
    hasPieces = true
    offset += 1
    let close = open == UInt8(ascii: "{") ? UInt8(ascii: "}") : UInt8(ascii: ")")
    switch name {
    case "comment":
      _ = skipGroup(close)
      return nil
    case "preamble":
      // TeX code, with or without quotation marks around it.
      guard skipGroup(close) else { throw unclosed }
      return nil
    case "string":
      skipSpace()
      let macro = takeName().lowercased()
      let value = try field(macro)
      skipSpace()
      if current == UInt8(ascii: ",") { offset += 1 }
      try take(close, of: name)
      macroBytes += value.count + macro.utf8.count
      guard macroBytes <= Self.macroBytesMax else { throw MalformedError("macros of more than 4 MiB") }
      macros[macro] = value
      return nil
    default:
      let key = try key(close)
      var fields: [(name: String, value: [UInt8])] = []
      while true {
        skipSpace()
        if current == UInt8(ascii: ",") {
          offset += 1
        } else if current == close {
          offset += 1
          return BibTeXEntry(line: line(of: start), type: name, key: key, fields: fields)
        } else {
          let name = takeName().lowercased()
          fields.append((name, try field(name, mayBeEmpty: true)))
          skipSpace()
          guard current == UInt8(ascii: ",") || current == close else {
            throw offset >= limit ? unclosed : MalformedError("no comma after the field \(name)")
          }
        }
      }
    }
  }

  /// Reads the key of an entry: the text up to the comma. An entry without a key begins with its first field.
  private mutating func key(_ close: UInt8) throws(MalformedError) -> String {
    nameStart = nil
    skipSpace()
    let start = offset
    while let byte = current, byte != UInt8(ascii: ","), byte != close {
      if byte == UInt8(ascii: "=") {
        offset = start
        return ""
      }
      offset += 1
    }
    guard offset < limit else { throw unclosed }
    guard let key = String(validating: bytes[start..<offset], as: UTF8.self) else {
      throw MalformedError("an entry with a key that is not UTF-8")
    }
    return key.withoutOuterWhiteSpace
  }

  /// Reads the value of a field whose name has been read.
  private mutating func field(_ name: String, mayBeEmpty: Bool = false) throws(MalformedError) -> [UInt8] {
    skipSpace()
    guard !name.isEmpty else {
      throw offset >= limit ? unclosed : MalformedError("no name where a field should be")
    }
    guard current == UInt8(ascii: "=") else {
      throw offset >= limit ? unclosed : MalformedError("no \"=\" after \(name)")
    }
    offset += 1
    skipSpace()
    // Programs write `doi = ,` for a field without a value.
    if mayBeEmpty, let byte = current, [0x2C, 0x7D, 0x29].contains(byte) { return [] }
    return try value()
  }

  /// Reads a value: one or more pieces joined by #.
  private mutating func value() throws(MalformedError) -> [UInt8] {
    var value: [UInt8] = []
    while true {
      skipSpace()
      switch current {
      case UInt8(ascii: "{"):
        offset += 1
        value += try text(before: UInt8(ascii: "}"))
      case UInt8(ascii: "\""):
        offset += 1
        value += try text(before: UInt8(ascii: "\""))
      default:
        let name = takeName()
        guard !name.isEmpty else {
          throw offset >= limit ? unclosed : MalformedError("a field without a value")
        }
        // An undefined macro stands for its name.
        let piece = macros[name.lowercased()] ?? Array(name.utf8)
        expandedBytes += piece.count
        guard expandedBytes <= Self.expandedBytesMax else {
          throw MalformedError("macros that expand to more than 64 MiB")
        }
        value += piece
      }
      skipSpace()
      guard current == UInt8(ascii: "#") else { return value }
      offset += 1
    }
  }

  /// Reads up to and including a closing character outside of braces, and returns the text in front of it.
  private mutating func text(before close: UInt8) throws(MalformedError) -> ArraySlice<UInt8> {
    nameStart = nil
    let start = offset
    var depth = 0
    while let byte = current {
      offset += 1
      if depth == 0, byte == close { return bytes[start..<offset - 1] }
      if byte == UInt8(ascii: "{") { depth += 1 }
      if byte == UInt8(ascii: "}") { depth -= 1 }
      guard depth >= 0 else { throw MalformedError("a \"}\" without a \"{\" in a value in quotation marks") }
    }
    throw unclosed
  }

  private var unclosed: MalformedError {
    MalformedError(
      "an entry that is not closed before \(limit == bytes.count ? "the file ends" : "the next begins")")
  }

  // MARK: - Pieces of text

  /// The byte at `offset`; `nil` at the limit.
  private var current: UInt8? { offset < limit ? bytes[offset] : nil }

  /// Skips white space and comments.
  private mutating func skipSpace() {
    while let byte = current {
      if byte == UInt8(ascii: "%") {
        while let byte = current, byte != 0x0A, byte != 0x0D { offset += 1 }
      } else if !Self.isSpace(byte) {
        return
      } else {
        offset += 1
      }
    }
  }

  private mutating func take(_ close: UInt8, of name: String) throws(MalformedError) {
    skipSpace()
    guard current == close else {
      throw offset >= limit ? unclosed : MalformedError("more text after the value of @\(name)")
    }
    offset += 1
  }

  /// Skips a group that needs no reading, and returns whether it is closed. Programs store data in comments,
  /// which may look like entries.
  private mutating func skipGroup(_ close: UInt8) -> Bool {
    var depth = 0
    while let byte = current {
      offset += 1
      if depth == 0, byte == close { return true }
      if byte == UInt8(ascii: "{") { depth += 1 }
      if byte == UInt8(ascii: "}") { depth -= 1 }
    }
    return false
  }

  /// Reads the name of an entry type, a field or a macro, or a number.
  private mutating func takeName() -> String {
    let name = bytes[offset..<limit].prefix { byte in
      !Self.isSpace(byte) && !Self.isSpecial(byte)
    }
    nameStart = offset
    offset += name.count
    return String(decoding: name, as: UTF8.self)
  }

  private static func isLetter(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte & 0xDF) }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }

  /// Whether a character cannot occur in a name.
  private static func isSpecial(_ byte: UInt8) -> Bool {
    "\"#%'(),={}".utf8.contains(byte)
  }

  // MARK: - Lines

  /// The line of an offset. Must be called with rising offsets.
  private mutating func line(of offset: Int) -> Int {
    var index = lineCountedTo
    while index < offset {
      // Lines end with a line feed, with or without a carriage return, or with a carriage return alone.
      let byte = bytes[index]
      if byte == 0x0A || (byte == 0x0D && (index + 1 == bytes.count || bytes[index + 1] != 0x0A)) {
        lineCounted += 1
      }
      index += 1
    }
    lineCountedTo = max(offset, lineCountedTo)
    return lineCounted
  }

  private func isAtLineStart(_ offset: Int) -> Bool {
    var index = offset
    while index > 0, bytes[index - 1] == 0x20 || bytes[index - 1] == 0x09 { index -= 1 }
    return index == 0 || bytes[index - 1] == 0x0A || bytes[index - 1] == 0x0D
  }

  /// The offset at which the next entry after `offset`, or a comment with one, begins; the end if there is none.
  ///
  /// - Parameters:
  ///   - onlyAtLines: whether it must begin a line. Otherwise it may also follow white space or a brace, and any
  ///     name after an @ that begins a line is one.
  ///   - end: where to stop searching; `nil` for the end of the file.
  private func nextStart(after offset: Int, onlyAtLines: Bool, before end: Int? = nil) -> Int {
    let end = end ?? bytes.count
    let follows = offset > 0 && (Self.isSpace(bytes[offset - 1]) || [0x7D, 0x29].contains(bytes[offset - 1]))
    var isStart = !onlyAtLines && (follows || offset == nameStart)
    for index in min(offset, end)..<end {
      switch bytes[index] {
      case 0x0A, 0x0D: isStart = true
      case 0x20, 0x09: isStart = isStart || !onlyAtLines
      // An entry in a comment is reported.
      case UInt8(ascii: "%")
      where !onlyAtLines && isAtLineStart(index) && entry(inLineFrom: index + 1) != nil:
        return index
      case UInt8(ascii: "}"), UInt8(ascii: ")"): isStart = !onlyAtLines
      case UInt8(ascii: "@") where isStart && Self.beginsEntry(bytes, at: index): return index
      case UInt8(ascii: "@") where isStart && !onlyAtLines && isAtLineStart(index): return index
      default: isStart = false
      }
    }
    return end
  }

  /// The most bytes after the @ that are examined to recognize an entry.
  private static let nameBytesMax = 200

  /// Whether `@article{key,`, `@article{title =`, `@string{` or the like is at this offset.
  static func beginsEntry(_ bytes: [UInt8], at offset: Int) -> Bool {
    var rest = bytes[(offset + 1)...].prefix(nameBytesMax).drop { $0 == 0x20 || $0 == 0x09 }
    guard let first = rest.first, isLetter(first) else { return false }
    let name = rest.prefix { !isSpace($0) && !isSpecial($0) }
    rest = rest.dropFirst(name.count).drop(while: isSpace)
    guard let open = rest.popFirst(),
      open == UInt8(ascii: "{") || open == UInt8(ascii: "(")
    else {
      return false
    }
    if ["string", "comment", "preamble"].contains(String(decoding: name, as: UTF8.self).lowercased()) {
      return true
    }
    // The key, or the name of the first field. A key may have any character but these.
    rest = rest.drop(while: isSpace).drop { byte in
      ![UInt8(ascii: ","), UInt8(ascii: "="), UInt8(ascii: "{"), UInt8(ascii: "}"), 0x0A, 0x0D].contains(byte)
    }
    let end = rest.drop(while: isSpace).first
    return end == UInt8(ascii: ",") || end == UInt8(ascii: "=") && open == UInt8(ascii: "{")
  }
}

/// An entry of a BibTeX file, with its values as they are in the file.
struct BibTeXEntry {
  /// The line at which the entry begins; the first line is 1.
  let line: Int
  /// In lower case: "article".
  let type: String
  let key: String
  /// Values by name in lower case. A value has the bytes of the file, including braces and TeX macros, with
  /// the file's own macros expanded. If a name occurs twice, the first value counts.
  fileprivate(set) var fields: [String: [UInt8]] = [:]

  init(line: Int, type: String, key: String, fields: [(name: String, value: [UInt8])]) {
    self.line = line
    self.type = type
    self.key = key
    for (name, value) in fields where self.fields[name] == nil { self.fields[name] = value }
  }

  /// The undecoded value of a field.
  ///
  /// - Throws: `invalidItem` if it is not UTF-8.
  func raw(_ name: String) throws(LibraryError) -> String? {
    guard let bytes = fields[name] else { return nil }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw .invalidItem("the field \(name) of \(key) is not UTF-8")
    }
    return text
  }

  /// The text of a field; `nil` if there is none, or it is empty.
  func text(_ name: String) throws(LibraryError) -> String? {
    guard let text = try raw(name).map(LaTeXText.decoded), !text.isEmpty else { return nil }
    return text
  }

  /// The text of the first of these fields that has one.
  func text(firstOf names: [String]) throws(LibraryError) -> String? {
    for name in names {
      if let text = try text(name) { return text }
    }
    return nil
  }

  /// The address or identifier in a field; `nil` if there is none, or it is empty.
  func address(_ name: String) throws(LibraryError) -> String? {
    guard let text = try raw(name).map(LaTeXText.decodedAddress), !text.isEmpty else { return nil }
    return text
  }
}
