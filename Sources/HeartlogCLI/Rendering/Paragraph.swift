/// Breaks text into lines.
enum Paragraph {
  /// Breaks `words` into lines of at most `width` columns. A longer word gets its own line.
  static func lines(_ words: [String], width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    var used = 0
    for word in words {
      let columns = DisplayText.width(word)
      if !line.isEmpty, used + 1 + columns > width {
        lines.append(line)
        line = ""
        used = 0
      }
      if !line.isEmpty {
        line += " "
        used += 1
      }
      line += word
      used += columns
    }
    if !line.isEmpty { lines.append(line) }
    return lines
  }

  static func lines(_ text: String, width: Int) -> [String] {
    lines(text.split(separator: " ").map(String.init), width: width)
  }

  /// A term with its explanation, which starts at `column`, or on the next line if the term is too long.
  static func definition(
    _ term: String, _ styledTerm: String, _ text: String, column: Int, width: Int
  ) -> [String] {
    let indent = String(repeating: " ", count: column)
    var body = lines(text, width: max(20, width - column)).map { indent + $0 }
    let termWidth = 2 + DisplayText.width(term)
    guard termWidth + 2 <= column, let first = body.first else { return ["  " + styledTerm] + body }
    let padding = String(repeating: " ", count: column - termWidth)
    body[0] = "  \(styledTerm)\(padding)\(first.dropFirst(column))"
    return body
  }
}
