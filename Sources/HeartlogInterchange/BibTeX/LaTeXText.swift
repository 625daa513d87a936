import HeartlogLibraries

/// Text as the fields of a BibTeX file hold it. `decoded(encoded(text))` is `text`, byte for byte, whatever is in it.
///
/// Written is Unicode as it is. The signs that mean something to LaTeX are escaped; a `\` of the text becomes `\textbackslash{}`, so that
/// a TeX accent that the text spells out stays spelled out. Between dollar signs, math stays as it is. A line feed is `\newline{}`,
/// spaces beyond one are `\ `, other control characters `\symbol{9}`. Braces stand in pairs, as BibTeX wants.
enum LaTeXText {
  /// The value of a field for text, without what delimits it.
  static func encoded(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    var math = LaTeXMath(scalars)
    var output = String.UnicodeScalarView()
    var index = 0
    while index < scalars.count {
      if scalars[index] == "$", let end = math.end(from: index), math.isPlain(index..<end) {
        output.append(contentsOf: scalars[index..<end])
        index = end
        continue
      }
      // A backslash and what stands behind it are one thing, so that a dollar sign there opens no math.
      let isEscape = scalars[index] == "\\" && index + 1 < scalars.count
      for each in index...(isEscape ? index + 1 : index) { append(scalars, each, to: &output) }
      index += isEscape ? 2 : 1
    }
    return String(output)
  }

  private static func append(
    _ scalars: [Unicode.Scalar], _ index: Int, to output: inout String.UnicodeScalarView
  ) {
    let scalar = scalars[index]
    switch scalar {
    case "%", "&", "#", "_", "$":
      output.append("\\")
      output.append(scalar)
    case "\\": output.append(contentsOf: "\\textbackslash{}".unicodeScalars)
    case "{": output.append(contentsOf: "\\textbraceleft{}".unicodeScalars)
    case "}": output.append(contentsOf: "\\textbraceright{}".unicodeScalars)
    case "~": output.append(contentsOf: "\\textasciitilde{}".unicodeScalars)
    case "^": output.append(contentsOf: "\\textasciicircum{}".unicodeScalars)
    default: appendAsIs(scalars, index, to: &output)
    }
  }

  /// The value of a field for addresses and identifiers: only what would not come back is escaped.
  static func encodedAddress(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    var output = String.UnicodeScalarView()
    for (index, scalar) in scalars.enumerated() {
      if "\\{}".unicodeScalars.contains(scalar) {
        append(scalars, index, to: &output)
      } else {
        appendAsIs(scalars, index, to: &output)
      }
    }
    return String(output)
  }

  /// Appends what means nothing to LaTeX. White space in a row, or at an end, would be lost; control characters are named by number.
  private static func appendAsIs(
    _ scalars: [Unicode.Scalar], _ index: Int, to output: inout String.UnicodeScalarView
  ) {
    let scalar = scalars[index]
    switch scalar.value {
    case 0x0A: output.append(contentsOf: "\\newline{}".unicodeScalars)
    case 0x20:
      let isAlone =
        index > 0 && index + 1 < scalars.count && scalars[index - 1] != " " && scalars[index + 1] != " "
      if !isAlone { output.append("\\") }
      output.append(" ")
    case ..<0x20, 0x7F: output.append(contentsOf: "\\symbol{\(scalar.value)}".unicodeScalars)
    default: output.append(scalar)
    }
  }

  /// The text of a field. Accents and letters by macro become Unicode, braces and macros for looks go, white space becomes one space;
  /// math between dollar signs and macros that are not known stay as they are. Quotation marks and dashes stay as they are typed.
  static func decoded(_ value: String) -> String {
    var decoder = LaTeXDecoder(value)
    return decoder.text()
  }

  /// The text of a field for addresses and identifiers, in which `~`, `$` and `%` are themselves.
  static func decodedAddress(_ value: String) -> String {
    var decoder = LaTeXDecoder(value, isAddress: true)
    return decoder.text()
  }
}

/// Finds the math of a text: `$…$` and `$$…$$`, with braces in pairs.
///
/// All of the math of a text is found in linear time: where one search came to the end in vain, no later one begins.
struct LaTeXMath {
  private let scalars: [Unicode.Scalar]
  private var hasNoMoreSingle = false
  private var hasNoMoreDouble = false

  init(_ scalars: [Unicode.Scalar]) { self.scalars = scalars }

  /// Where the math ends whose first dollar sign is at `start`, behind its last; nil where that sign opens none.
  mutating func end(from start: Int) -> Int? {
    let isDouble = start + 1 < scalars.count && scalars[start + 1] == "$"
    if isDouble ? hasNoMoreDouble : hasNoMoreSingle { return nil }
    let width = isDouble ? 2 : 1
    var index = start + width
    var depth = 0
    var isBalanced = true
    while index < scalars.count {
      switch scalars[index] {
      case "\\":
        // BibTeX counts a brace behind a backslash too.
        index += 1
        if index < scalars.count { count(scalars[index], &depth, &isBalanced) }
      case "$" where !isDouble || (index + 1 < scalars.count && scalars[index + 1] == "$"):
        return isBalanced && depth == 0 && index > start + width ? index + width : nil
      case let other: count(other, &depth, &isBalanced)
      }
      index += 1
    }
    if isDouble { hasNoMoreDouble = true } else { hasNoMoreSingle = true }
    return nil
  }

  private func count(_ scalar: Unicode.Scalar, _ depth: inout Int, _ isBalanced: inout Bool) {
    if scalar == "{" { depth += 1 }
    if scalar == "}" { depth -= 1 }
    if depth < 0 { isBalanced = false }
  }

  /// Whether math comes back as it is: without control characters and without spaces in a row.
  func isPlain(_ range: Range<Int>) -> Bool {
    range.allSatisfy { index in
      scalars[index].value >= 0x20 && scalars[index].value != 0x7F
        && !(scalars[index] == " " && scalars[index + 1] == " ")
    }
  }
}
