/// White space in texts: of any kind for characters, of ASCII for bytes.
extension StringProtocol {
  /// The text without white space at its ends; that inside stays.
  package var withoutOuterWhiteSpace: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }),
      let last = lastIndex(where: { !$0.isWhitespace })
    else { return "" }
    return String(self[first...last])
  }

  /// The words of the text with one space between them: without the line breaks and the indents of its source.
  package var collapsed: String { split(whereSeparator: \.isWhitespace).joined(separator: " ") }

  /// The text as a message quotes it, cut where it is long.
  package var quoted: String { utf8.count > 64 ? "\"\(prefix(64))…\"" : "\"\(self)\"" }
}

extension UInt8 {
  /// A space, a tabulator, a line feed, or one of the others up to carriage return.
  package var isASCIIWhiteSpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

extension ArraySlice<UInt8> {
  /// The bytes without white space of ASCII at their ends.
  package var withoutOuterWhiteSpace: ArraySlice<UInt8> {
    guard let first = firstIndex(where: { !$0.isASCIIWhiteSpace }),
      let last = lastIndex(where: { !$0.isASCIIWhiteSpace })
    else { return [] }
    return self[first...last]
  }
}
