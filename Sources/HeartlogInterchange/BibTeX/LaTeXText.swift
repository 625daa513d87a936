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
    var place = 0
    while place < scalars.count {
      if scalars[place] == "$", let end = math.end(from: place), math.isPlain(place..<end) {
        output.append(contentsOf: scalars[place..<end])
        place = end
        continue
      }
      // A backslash and what stands behind it are one thing, so that a dollar sign there opens no math.
      let isEscape = scalars[place] == "\\" && place + 1 < scalars.count
      for index in place...(isEscape ? place + 1 : place) { append(scalars, index, to: &output) }
      place += isEscape ? 2 : 1
    }
    return String(output)
  }

  private static func append(
    _ scalars: [Unicode.Scalar], _ place: Int, to output: inout String.UnicodeScalarView
  ) {
    let scalar = scalars[place]
    switch scalar {
    case "%", "&", "#", "_", "$":
      output.append("\\")
      output.append(scalar)
    case "\\": output.append(contentsOf: "\\textbackslash{}".unicodeScalars)
    case "{": output.append(contentsOf: "\\textbraceleft{}".unicodeScalars)
    case "}": output.append(contentsOf: "\\textbraceright{}".unicodeScalars)
    case "~": output.append(contentsOf: "\\textasciitilde{}".unicodeScalars)
    case "^": output.append(contentsOf: "\\textasciicircum{}".unicodeScalars)
    default: appendAsIs(scalars, place, to: &output)
    }
  }

  /// The value of a field for addresses and identifiers: only what would not come back is escaped.
  static func encodedAddress(_ text: String) -> String {
    let scalars = Array(text.unicodeScalars)
    var output = String.UnicodeScalarView()
    for (place, scalar) in scalars.enumerated() {
      if "\\{}".unicodeScalars.contains(scalar) {
        append(scalars, place, to: &output)
      } else {
        appendAsIs(scalars, place, to: &output)
      }
    }
    return String(output)
  }

  /// Appends what means nothing to LaTeX. White space in a row, or at an end, would be lost; control characters are named by number.
  private static func appendAsIs(
    _ scalars: [Unicode.Scalar], _ place: Int, to output: inout String.UnicodeScalarView
  ) {
    let scalar = scalars[place]
    switch scalar.value {
    case 0x0A: output.append(contentsOf: "\\newline{}".unicodeScalars)
    case 0x20:
      let isAlone =
        place > 0 && place + 1 < scalars.count && scalars[place - 1] != " " && scalars[place + 1] != " "
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
