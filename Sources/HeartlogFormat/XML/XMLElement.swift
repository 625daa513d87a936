/// An element of an XML document, with its text and its children.
///
/// The parser is strict and supports what feeds and servers use: elements, attributes, text, CDATA, comments, the
/// predefined entities and character references. Document types are refused, and with them custom entities.
package struct XMLElement {
  /// The name as written, with its prefix.
  package let name: String
  /// The offset of its start in the bytes of the document.
  package let offset: Int
  package fileprivate(set) var attributes: [String: String] = [:]
  /// The text directly inside the element, without that of its children.
  package fileprivate(set) var text = ""
  package fileprivate(set) var children: [XMLElement] = []

  /// The name without its prefix.
  package var localName: Substring { name[...].split(separator: ":").last ?? "" }

  /// The first child with a name, whatever its prefix.
  package func child(_ localName: String) -> XMLElement? { children.first { $0.localName == localName } }

  package func children(named name: String) -> [XMLElement] { children.filter { $0.name == name } }

  /// The text of the first child with this name.
  package func text(of name: String) -> String? { children.first { $0.name == name }?.text }

  /// The most levels of elements in a document.
  static let depthMax = 64

  /// Parses a document in UTF-8 and returns its root element.
  package static func document(_ bytes: [UInt8]) throws(MalformedError) -> XMLElement {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw MalformedError("an XML document that is not UTF-8")
    }
    var parser = XMLParser(text)
    return try parser.document()
  }
}

private struct XMLParser {
  private let bytes: [UInt8]
  private var offset = 0

  init(_ text: String) { bytes = Array(text.utf8) }

  mutating func document() throws(MalformedError) -> XMLElement {
    try skipMisc()
    guard isAt("<") else { throw malformed("no element") }
    let root = try element(depth: 1)
    try skipMisc()
    guard offset == bytes.count else { throw malformed("something after the document's element") }
    return root
  }

  private func malformed(_ what: String) -> MalformedError {
    MalformedError("XML with \(what), at byte offset \(offset)")
  }

  private func isAt(_ text: StaticString) -> Bool { bytes.has(text, at: offset) }

  private mutating func take(_ text: StaticString) -> Bool {
    guard isAt(text) else { return false }
    offset += text.utf8CodeUnitCount
    return true
  }

  private mutating func skipWhitespace() {
    while offset < bytes.count, bytes[offset].isASCIIWhiteSpace { offset += 1 }
  }

  /// Reads up to and including `end`, and returns the text in front of it.
  private mutating func text(before end: StaticString) throws(MalformedError) -> ArraySlice<UInt8> {
    let start = offset
    while offset < bytes.count {
      let endOfText = offset
      if take(end) { return bytes[start..<endOfText] }
      offset += 1
    }
    throw malformed("no \(end)")
  }

  /// Skips what may be between elements: declarations, comments and white space.
  private mutating func skipMisc() throws(MalformedError) {
    while true {
      skipWhitespace()
      if take("<?") {
        _ = try text(before: "?>")
      } else if take("<!--") {
        _ = try text(before: "-->")
      } else if isAt("<!") {
        throw malformed("a document type")
      } else {
        return
      }
    }
  }

  private mutating func element(depth: Int) throws(MalformedError) -> XMLElement {
    guard depth <= XMLElement.depthMax else { throw malformed("too many levels") }
    let start = offset
    guard take("<") else { throw malformed("no element") }
    var element = XMLElement(name: try name(), offset: start)
    while true {
      skipWhitespace()
      if take("/>") { return element }
      if take(">") { break }
      let name = try name()
      skipWhitespace()
      guard take("=") else { throw malformed("an attribute without a value") }
      skipWhitespace()
      guard element.attributes.updateValue(try attributeValue(), forKey: name) == nil else {
        throw malformed("an attribute given twice")
      }
    }
    var content: [UInt8] = []
    while true {
      if take("</") {
        guard try name() == element.name else { throw malformed("an element that ends as another") }
        skipWhitespace()
        guard take(">") else { throw malformed("a bad end of an element") }
        element.text = String(decoding: content, as: UTF8.self)
        return element
      }
      if take("<!--") {
        _ = try text(before: "-->")
      } else if take("<![CDATA[") {
        content += try text(before: "]]>")
      } else if take("<?") {
        _ = try text(before: "?>")
      } else if isAt("<") {
        element.children.append(try self.element(depth: depth + 1))
      } else if offset < bytes.count {
        try appendCharacter(to: &content)
      } else {
        throw malformed("an element without an end")
      }
    }
  }

  private mutating func name() throws(MalformedError) -> String {
    let start = offset
    let ends = Array(" \t\r\n/>=<\"'&".utf8)
    while offset < bytes.count, !ends.contains(bytes[offset]) { offset += 1 }
    guard offset > start else { throw malformed("no name") }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private mutating func attributeValue() throws(MalformedError) -> String {
    guard isAt("\"") || isAt("'") else { throw malformed("an attribute value without quotation marks") }
    let quote = bytes[offset]
    offset += 1
    var value: [UInt8] = []
    while offset < bytes.count {
      if bytes[offset] == quote {
        offset += 1
        return String(decoding: value, as: UTF8.self)
      }
      guard !isAt("<") else { throw malformed("a < in an attribute") }
      try appendCharacter(to: &value)
    }
    throw malformed("an attribute without an end")
  }

  /// Reads one byte of text, or the text for an entity or a character reference.
  private mutating func appendCharacter(to output: inout [UInt8]) throws(MalformedError) {
    guard take("&") else {
      output.append(bytes[offset])
      offset += 1
      return
    }
    let end = bytes[offset...].prefix(CharacterReference.bytesMax).firstIndex(of: UInt8(ascii: ";"))
    guard let end else { throw malformed("an entity without an end") }
    guard let text = CharacterReference.text(String(decoding: bytes[offset..<end], as: UTF8.self)) else {
      throw malformed("an unknown entity")
    }
    output += text.utf8
    offset = end + 1
  }
}

/// Character references of XML and HTML: the text between `&` and `;`.
package enum CharacterReference {
  /// The predefined entities of XML.
  private static let entities = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

  /// The bytes of the longest reference, that of the last character, with its end: `#x10FFFF;`.
  package static let bytesMax = 9

  /// The text for a reference, by name or by number; `nil` if it is unknown.
  package static func text(_ reference: String) -> String? {
    guard reference.hasPrefix("#") else { return entities[reference] }
    let digits = reference.dropFirst()
    let isHexadecimal = digits.first == "x" || digits.first == "X"
    let number = isHexadecimal ? digits.dropFirst() : digits
    guard let first = number.first, first.isHexDigit,
      let code = UInt32(number, radix: isHexadecimal ? 16 : 10),
      code != 0, let scalar = Unicode.Scalar(code)
    else { return nil }
    return String(Character(scalar))
  }
}

/// Percent-encoding of texts in URLs.
extension String {
  /// The text as the path of a URL: all characters except the unreserved ones of RFC 3986 and the slash are
  /// escaped.
  package var percentEncoded: String {
    var encoded: [UInt8] = []
    for byte in utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"):
        encoded.append(byte)
      case _ where "-._~/".utf8.contains(byte): encoded.append(byte)
      default: encoded += "%\(Hexadecimal.text([byte]).uppercased())".utf8
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }
}

extension StringProtocol {
  /// The percent-decoded text; `nil` if an escape is malformed, or the result is not UTF-8.
  package var percentDecoded: String? {
    var bytes: [UInt8] = []
    var rest = Array(utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      guard digits.utf8.count == 2, let value = Hexadecimal.bytes(digits) else { return nil }
      bytes += value
      rest = rest.dropFirst(2)
    }
    return String(validating: bytes, as: UTF8.self)
  }
}

/// White space in texts: any white space in characters, ASCII white space in bytes.
extension StringProtocol {
  /// The text without white space at its ends.
  package var withoutOuterWhiteSpace: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }),
      let last = lastIndex(where: { !$0.isWhitespace })
    else { return "" }
    return String(self[first...last])
  }

  /// The words of the text, joined by single spaces. Line breaks and indentation are lost.
  package var collapsed: String { split(whereSeparator: \.isWhitespace).joined(separator: " ") }

  /// The text in quotation marks, for messages; cut if it is long.
  package var quoted: String { utf8.count > 64 ? "\"\(prefix(64))…\"" : "\"\(self)\"" }
}

extension [UInt8] {
  /// Whether a text stands at this offset.
  package func has(_ text: StaticString, at offset: Int) -> Bool {
    let expected = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    return offset >= 0 && count - offset >= expected.count
      && self[offset..<offset + expected.count].elementsEqual(expected)
  }
}

extension UInt8 {
  /// Whether the byte is a space, a tab, a line feed, or another of the controls from tab to carriage return.
  package var isASCIIWhiteSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

extension ArraySlice<UInt8> {
  /// The bytes without ASCII white space at their ends.
  package var withoutOuterWhiteSpace: ArraySlice<UInt8> {
    guard let first = firstIndex(where: { !$0.isASCIIWhiteSpace }),
      let last = lastIndex(where: { !$0.isASCIIWhiteSpace })
    else { return [] }
    return self[first...last]
  }
}
