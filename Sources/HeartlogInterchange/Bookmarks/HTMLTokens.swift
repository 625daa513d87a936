import HeartlogLibraries

/// The tags and texts of an HTML file in order, parsed as leniently as in browsers: nothing is an error.
///
/// Names of tags and attributes are in lower case. Parsing takes one pass. The values of attributes that are
/// not wanted, such as images of a megabyte, are skipped.
struct HTMLTokens {
  enum Token {
    case open(String, attributes: [String: String])
    case close(String)
    case text(String)
  }

  private let bytes: [UInt8]
  private let wanted: Set<String>
  private var offset = 0
  private var line = 1

  /// - Parameters:
  ///   - bytes: the file.
  ///   - attributes: the names of the attributes that are wanted.
  init(_ bytes: [UInt8], attributes: Set<String>) {
    self.bytes = bytes
    wanted = attributes
  }

  /// The next token, with the line at which it begins; `nil` at the end.
  mutating func next() -> (line: Int, token: Token)? {
    while offset < bytes.count {
      let start = line
      guard bytes[offset] == UInt8(ascii: "<"), offset + 1 < bytes.count else { return (start, text()) }
      switch bytes[offset + 1] {
      case UInt8(ascii: "!"), UInt8(ascii: "?"): skipDeclaration()
      case UInt8(ascii: "/"):
        advance(2)
        let name = name()
        _ = attributes()
        return (start, .close(name))
      case let byte where Self.isLetter(byte):
        advance(1)
        let name = name()
        return (start, .open(name, attributes: attributes()))
      default: return (start, text())
      }
    }
    return nil
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }

  private mutating func advance(_ count: Int = 1) {
    for _ in 0..<count where offset < bytes.count {
      if bytes[offset] == 0x0A { line += 1 }
      offset += 1
    }
  }

  private mutating func skip(while condition: (UInt8) -> Bool) {
    while offset < bytes.count, condition(bytes[offset]) { advance() }
  }

  /// Reads at least one byte, up to the next `<`.
  private mutating func text() -> Token {
    let start = offset
    advance()
    skip { $0 != UInt8(ascii: "<") }
    return .text(HTMLText.decoded(bytes[start..<offset]))
  }

  private mutating func skipDeclaration() {
    guard bytes[offset...].starts(with: "<!--".utf8) else {
      skip { $0 != UInt8(ascii: ">") }
      return advance()
    }
    advance(4)
    while offset < bytes.count, !bytes[offset...].starts(with: "-->".utf8) { advance() }
    advance(3)
  }

  private mutating func name() -> String {
    let start = offset
    skip {
      !$0.isASCIIWhiteSpace && $0 != UInt8(ascii: ">") && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "=")
    }
    return String(decoding: bytes[start..<offset], as: UTF8.self).lowercased()
  }

  /// Reads attributes up to and including the end of the tag.
  private mutating func attributes() -> [String: String] {
    var attributes: [String: String] = [:]
    while true {
      skip { $0.isASCIIWhiteSpace || $0 == UInt8(ascii: "/") }
      guard offset < bytes.count, bytes[offset] != UInt8(ascii: ">") else { break }
      let name = name()
      skip(while: \.isASCIIWhiteSpace)
      guard offset < bytes.count, bytes[offset] == UInt8(ascii: "=") else { continue }
      advance()
      let value = value()
      if wanted.contains(name), attributes[name] == nil { attributes[name] = HTMLText.decoded(bytes[value]) }
    }
    advance()
    return attributes
  }

  private mutating func value() -> Range<Int> {
    skip(while: \.isASCIIWhiteSpace)
    guard offset < bytes.count else { return offset..<offset }
    let quote = bytes[offset]
    let isQuoted = quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'")
    if isQuoted { advance() }
    let start = offset
    skip { isQuoted ? $0 != quote : !$0.isASCIIWhiteSpace && $0 != UInt8(ascii: ">") }
    let end = offset
    if isQuoted { advance() }
    return start..<end
  }
}

/// Encoding and decoding of text in HTML and in quoted attributes.
enum HTMLText {
  /// Replaces character references; unknown ones are left unchanged. Bytes that are not UTF-8 become U+FFFD.
  static func decoded(_ bytes: ArraySlice<UInt8>) -> String {
    let ampersand = UInt8(ascii: "&")
    guard bytes.contains(ampersand) else { return String(decoding: bytes, as: UTF8.self) }
    var output: [UInt8] = []
    output.reserveCapacity(bytes.count)
    var offset = bytes.startIndex
    while offset < bytes.endIndex {
      let byte = bytes[offset]
      offset += 1
      if byte == ampersand,
        let end = bytes[offset...].prefix(CharacterReference.bytesMax).firstIndex(of: UInt8(ascii: ";")),
        let text = text(of: String(decoding: bytes[offset..<end], as: UTF8.self))
      {
        output += text.utf8
        offset = end + 1
      } else {
        output.append(byte)
      }
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// The text for a reference. Besides the common references, only the no-break space is known: browsers do
  /// not write the many other entities of HTML here.
  private static func text(of reference: String) -> String? {
    reference == "nbsp" ? "\u{A0}" : CharacterReference.text(reference)
  }

  /// Appends a text, escaped.
  static func append(_ text: String, to output: inout [UInt8]) {
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "&"): output += "&amp;".utf8
      case UInt8(ascii: "<"): output += "&lt;".utf8
      case UInt8(ascii: ">"): output += "&gt;".utf8
      case UInt8(ascii: "\""): output += "&quot;".utf8
      // A reader would turn it into a line feed.
      case 0x0D: output += "&#13;".utf8
      default: output.append(byte)
      }
    }
  }
}
