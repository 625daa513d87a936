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
