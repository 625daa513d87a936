import HeartlogLibraries

/// Text in the fields of a BibTeX file. `decoded(encoded(text))` equals `text`, byte for byte, for any text.
///
/// Unicode is written unchanged. Characters with a meaning in LaTeX are escaped; a `\` in the text becomes
/// `\textbackslash{}`, so that a TeX accent spelled out in the text stays spelled out. Math between dollar
/// signs is unchanged. A line feed becomes `\newline{}`, spaces beyond the first become `\ `, and other
/// control characters become `\symbol{9}`. Braces are balanced, as BibTeX requires.
enum LaTeXText {
  /// Encodes text as the value of a field, without delimiters.
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
      // A backslash and the character after it are handled together, so that a dollar sign there opens no
      // math.
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

  /// Encodes an address or identifier as the value of a field. Only what would not be restored is escaped.
  static func encodedAddress(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    var output = String.UnicodeScalarView()
    for (index, scalar) in scalars.enumerated() {
      // "$<$" would be read as "<".
      let opensSign =
        scalar == "$" && index + 1 < scalars.count && "<>".unicodeScalars.contains(scalars[index + 1])
      if opensSign || "\\{}".unicodeScalars.contains(scalar) {
        append(scalars, index, to: &output)
      } else {
        appendAsIs(scalars, index, to: &output)
      }
    }
    return String(output)
  }

  /// Appends a character without a meaning in LaTeX. Repeated white space and white space at either end are
  /// escaped, since they would be lost; control characters are written by number.
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

  /// Decodes the text of a field.
  ///
  /// Accents and letters written as macros become Unicode, and so do the quotation marks of `\enquote` and raised
  /// and lowered letters. Braces and formatting macros are removed, and white space becomes one space. Math
  /// between dollar signs is unchanged, and between `\(` and `\)` it gets dollar signs. Unknown macros, typed
  /// quotation marks and dashes are unchanged.
  static func decoded(_ value: String) -> String {
    var decoder = LaTeXDecoder(value)
    return decoder.text()
  }

  /// Decodes a field with an address or identifier, in which `~`, `$` and `%` have no special meaning.
  static func decodedAddress(_ value: String) -> String {
    var decoder = LaTeXDecoder(value, isAddress: true)
    return decoder.text()
  }
}

/// Finds the math in a text: `$…$` and `$$…$$`, with balanced braces.
///
/// All math in a text is found in linear time: once a search has reached the end in vain, no further search
/// is started.
struct LaTeXMath {
  private let scalars: [Unicode.Scalar]
  private var hasNoMoreSingle = false
  private var hasNoMoreDouble = false

  init(_ scalars: [Unicode.Scalar]) { self.scalars = scalars }

  /// The index after the closing dollar sign of the math that opens at `start`; `nil` if no math opens there.
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
        // BibTeX counts a brace after a backslash too.
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

  /// The index after the `\)` of the math that opens with a `\(` at `start`; `nil` if no math opens there.
  func end(fromParenthesis start: Int) -> Int? {
    var index = start + 2
    var depth = 0
    var isBalanced = true
    while index + 1 < scalars.count {
      if scalars[index] == "\\" {
        if scalars[index + 1] == ")" { return isBalanced && depth == 0 ? index + 2 : nil }
        // Stopping here also bounds the time for many that are never closed.
        if scalars[index + 1] == "(" { return nil }
        index += 1
      }
      // A dollar sign would end the math that is written.
      if scalars[index] == "$" { return nil }
      count(scalars[index], &depth, &isBalanced)
      index += 1
    }
    return nil
  }

  private func count(_ scalar: Unicode.Scalar, _ depth: inout Int, _ isBalanced: inout Bool) {
    if scalar == "{" { depth += 1 }
    if scalar == "}" { depth -= 1 }
    if depth < 0 { isBalanced = false }
  }

  /// Whether math is restored exactly: it has no control characters and no repeated spaces.
  func isPlain(_ range: Range<Int>) -> Bool {
    range.allSatisfy { index in
      scalars[index].value >= 0x20 && scalars[index].value != 0x7F
        && !(scalars[index] == " " && scalars[index + 1] == " ")
    }
  }
}
