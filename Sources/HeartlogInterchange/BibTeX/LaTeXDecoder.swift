import Heartlog
import HeartlogLibraries

/// Decodes the value of a BibTeX field; see `LaTeXText`. The time is linear in its length for any input.
struct LaTeXDecoder {
  private let scalars: [Unicode.Scalar]
  private let isAddress: Bool
  private var math: LaTeXMath
  private var index = 0
  private var output = String.UnicodeScalarView()
  /// Whether white space was read, which becomes a space if text follows.
  private var needsSpace = false
  private var groups: [Group] = []
  /// What the next group is if it follows at once.
  private var argument = Group.plain
  /// How many of the open groups are addresses, in which `~`, `$` and `%` have no special meaning.
  private var addressDepth = 0
  private var quotationDepth = 0
  private var isInAddress: Bool { isAddress || addressDepth > 0 }

  private enum Group {
    case plain
    /// The argument of an unknown macro: its braces are part of the text.
    case argument
    /// An address; whether its braces are part of the text.
    case address(keepsBraces: Bool)
    case quotation
    /// Raised or lowered text that begins at an index of the output.
    case script([Unicode.Scalar: Unicode.Scalar], start: String.Index)
  }

  init(_ value: String, isAddress: Bool = false) {
    scalars = Array(value.unicodeScalars)
    self.isAddress = isAddress
    math = LaTeXMath(scalars)
  }

  mutating func text() -> String {
    while index < scalars.count {
      let argument = argument
      self.argument = .plain
      let scalar = scalars[index]
      switch scalar {
      case " ", "\t", "\r", "\n":
        needsSpace = !output.isEmpty
        index += 1
      case "{":
        open(argument)
        index += 1
      case "}":
        close()
        index += 1
      case "\\": macro()
      case "~" where !isInAddress:
        emit(" ")
        index += 1
      case "$" where !isInAddress: takeMath()
      // Wiley's DOIs, as TeX prints them: $<$.
      case "$"
      where index + 2 < scalars.count && "<>".unicodeScalars.contains(scalars[index + 1])
        && scalars[index + 2] == "$":
        emit(scalars[index + 1])
        index += 3
      default:
        emit(scalar)
        index += 1
      }
    }
    return String(output)
  }

  private mutating func open(_ group: Group) {
    var group = group
    switch group {
    case .plain: break
    case .argument: emit("{")
    case .address(let keepsBraces):
      if keepsBraces { emit("{") }
      addressDepth += 1
    case .quotation:
      quotationDepth += 1
      emit(quotationDepth % 2 == 1 ? "“" : "‘")
    case .script(let forms, _):
      if needsSpace { output.append(" ") }
      needsSpace = false
      group = .script(forms, start: output.endIndex)
    }
    groups.append(group)
  }

  /// The most scalars that are raised or lowered. It bounds the time that nested scripts take.
  private static let scriptScalarsMax = 32

  private mutating func close() {
    guard let group = groups.popLast() else { return }
    switch group {
    case .plain: break
    case .argument:
      emit("}")
      argument = .argument
    case .address(let keepsBraces):
      addressDepth -= 1
      if keepsBraces {
        emit("}")
        argument = .argument
      }
    case .quotation:
      emit(quotationDepth % 2 == 1 ? "”" : "’")
      quotationDepth -= 1
    case .script(let forms, let start):
      // Long text, and text of which a letter has no such form, stays as it is.
      let text = output[start...].prefix(Self.scriptScalarsMax)
      let script = text.compactMap { forms[$0] }
      if text.endIndex == output.endIndex, script.count == text.count {
        output.replaceSubrange(start..., with: script)
      }
    }
  }

  private mutating func emit(_ scalar: Unicode.Scalar) {
    if needsSpace { output.append(" ") }
    needsSpace = false
    output.append(scalar)
  }

  private mutating func emit(_ text: some StringProtocol) {
    for scalar in text.unicodeScalars { emit(scalar) }
  }

  private mutating func takeMath() {
    let end = math.end(from: index) ?? index + 1
    takeMath(scalars[index..<end])
    index = end
  }

  /// Takes math between `\(` and `\)` as math between dollar signs.
  private mutating func takeMath(in range: Range<Int>) {
    let inside = scalars[range].drop { $0 == " " || ("\t"..."\r").contains($0) }
    guard !inside.isEmpty else { return }
    emit("$")
    takeMath(inside)
    // White space before the second dollar sign would be text.
    needsSpace = false
    emit("$")
  }

  private mutating func takeMath(_ scalars: ArraySlice<Unicode.Scalar>) {
    for scalar in scalars {
      if scalar == " " || ("\t"..."\r").contains(scalar) {
        needsSpace = true
      } else {
        emit(scalar)
      }
    }
  }

  // MARK: - Macros

  private mutating func macro() {
    guard index + 1 < scalars.count else {
      emit("\\")
      index += 1
      return
    }
    let name = word(at: index + 1)
    let sign = scalars[index + 1]
    if name.isEmpty {
      if sign == "(", !isInAddress, let end = math.end(fromParenthesis: index) {
        takeMath(in: index + 2..<end - 2)
        index = end
      } else if !isInAddress, let mark = LaTeXMacros.signAccents[sign] {
        accent(mark, named: String(sign), argumentAt: index + 2)
      } else {
        index += 2
        self.sign(sign)
      }
    } else if !isInAddress, let mark = LaTeXMacros.letterAccents[name] {
      accent(mark, named: name, argumentAt: index + 1 + name.utf8.count)
    } else if let symbol = LaTeXMacros.symbols[name] {
      index = afterWord(index + 1 + name.utf8.count)
      emit(symbol)
    } else if name == "symbol", let (scalar, end) = numbered(at: index + 7) {
      index = end
      emit(scalar)
    } else if let group = group(for: name) {
      index = afterSpace(index + 1 + name.utf8.count)
      // \enquote* is the inner pair of quotation marks.
      if index < scalars.count, scalars[index] == "*" { index += 1 }
      argument = group
    } else if name == "href" {
      emit("\\href")
      index = afterSpace(index + 5)
      argument = .address(keepsBraces: true)
    } else if LaTeXMacros.looks.contains(name) || isInAddress && name == "ensuremath" {
      index = afterSpace(index + 1 + name.utf8.count)
    } else {
      index += 1 + name.utf8.count
      emit("\\" + name)
      argument = .argument
    }
  }

  private func group(for name: String) -> Group? {
    switch name {
    case "url", "nolinkurl", "path": .address(keepsBraces: false)
    case "enquote", "mkbibquote": .quotation
    case "textsuperscript": .script(LaTeXMacros.superscripts, start: output.endIndex)
    case "textsubscript": .script(LaTeXMacros.subscripts, start: output.endIndex)
    default: nil
    }
  }

  /// Handles a macro whose name is a sign, and which is not an accent.
  private mutating func sign(_ sign: Unicode.Scalar) {
    switch sign {
    case "{", "}", "%", "&", "#", "_", "$": emit(sign)
    case "~" where isInAddress, "^" where isInAddress:
      emit(sign)
      index = afterWord(index)
    case " ", "\t", "\r", "\n": emit(" ")
    // Line breaks and thin spaces.
    case "\\", ",", ";", ":": needsSpace = !output.isEmpty
    // Hints for hyphenation and kerning.
    case "-", "/", "@", "!": break
    default:
      emit("\\")
      emit(sign)
    }
  }

  private mutating func accent(_ mark: Unicode.Scalar, named name: String, argumentAt start: Int) {
    guard let base = base(at: afterSpace(start), depth: 0) else {
      index = start
      emit("\\" + name)
      argument = .argument
      return
    }
    index = base.end
    if base.opensGroup { groups.append(.plain) }
    emit(Self.accented(base.text, mark))
  }

  private static func accented(_ base: String, _ mark: Unicode.Scalar) -> String {
    if base.isEmpty { return LaTeXMacros.spacing[mark] ?? "" }
    let dotted = base == "ı" ? "i" : base == "ȷ" ? "j" : base
    return String(String.UnicodeScalarView((dotted + String(mark)).precomposed))
  }

  /// The text that an accent applies to.
  private struct Base {
    var text: String
    var end: Int
    /// Whether the group continues after it.
    var opensGroup = false
  }

  /// The most accents on one letter. Vietnamese stacks two.
  private static let accentsMax = 4

  private func base(at start: Int, depth: Int) -> Base? {
    guard start < scalars.count, depth <= Self.accentsMax else { return nil }
    switch scalars[start] {
    case "{":
      let inside = afterSpace(start + 1)
      guard inside < scalars.count else { return nil }
      if scalars[inside] == "}" { return Base(text: "", end: inside + 1) }
      guard let base = base(at: inside, depth: depth + 1), !base.opensGroup else { return nil }
      if base.end < scalars.count, scalars[base.end] == "}" {
        return Base(text: base.text, end: base.end + 1)
      }
      return depth == 0 ? Base(text: base.text, end: base.end, opensGroup: true) : nil
    case "\\":
      let name = word(at: start + 1)
      let end = start + 1 + name.utf8.count
      if let symbol = LaTeXMacros.symbols[name], symbol.unicodeScalars.count == 1,
        symbol.unicodeScalars.first?.properties.isAlphabetic == true
      {
        return Base(text: symbol, end: afterWord(end))
      }
      let sign = start + 1 < scalars.count ? LaTeXMacros.signAccents[scalars[start + 1]] : nil
      guard let mark = LaTeXMacros.letterAccents[name] ?? (name.isEmpty ? sign : nil),
        let inner = base(at: afterSpace(name.isEmpty ? start + 2 : end), depth: depth + 1),
        !inner.opensGroup, !inner.text.isEmpty
      else { return nil }
      return Base(text: Self.accented(inner.text, mark), end: inner.end)
    case "}", "$", "~", "&", "%", "#": return nil
    case let scalar: return Base(text: String(scalar), end: start + 1)
    }
  }

  /// The letters of a macro's name. A name that is cut is longer than any known one, so it stays unknown.
  private func word(at start: Int) -> String {
    var name = String.UnicodeScalarView()
    for scalar in scalars[start...].prefix(64) {
      guard ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) else { break }
      name.append(scalar)
    }
    return String(name)
  }

  /// The index after the braces or white space that end a macro's name.
  private func afterWord(_ start: Int) -> Int {
    if start + 1 < scalars.count, scalars[start] == "{", scalars[start + 1] == "}" { return start + 2 }
    return afterSpace(start)
  }

  private func afterSpace(_ start: Int) -> Int {
    var index = start
    while index < scalars.count, [" ", "\t", "\r", "\n"].contains(scalars[index]) { index += 1 }
    return index
  }

  /// Parses the argument of `\symbol{10}`.
  private func numbered(at start: Int) -> (Unicode.Scalar, Int)? {
    guard start < scalars.count, scalars[start] == "{",
      let close = scalars[start...].prefix(9).firstIndex(of: "}")
    else { return nil }
    let digits = scalars[(start + 1)..<close].reduce(into: "") { $0.unicodeScalars.append($1) }
    guard let number = UInt32(digits), let scalar = Unicode.Scalar(number) else { return nil }
    return (scalar, close + 1)
  }
}

/// The LaTeX macros that occur in bibliographies, and the text they stand for.
enum LaTeXMacros {
  /// Accents named by a sign, as combining marks: `\'e`.
  static let signAccents: [Unicode.Scalar: Unicode.Scalar] = [
    "`": "\u{300}", "'": "\u{301}", "^": "\u{302}", "~": "\u{303}", "=": "\u{304}", ".": "\u{307}",
    "\"": "\u{308}",
  ]

  /// Accents named by a letter: `\c{c}`.
  static let letterAccents: [String: Unicode.Scalar] = [
    "u": "\u{306}", "r": "\u{30A}", "H": "\u{30B}", "v": "\u{30C}", "d": "\u{323}", "c": "\u{327}",
    "k": "\u{328}", "b": "\u{331}", "t": "\u{361}",
  ]

  /// Accents over nothing: `\~{}`.
  static let spacing: [Unicode.Scalar: String] = [
    "\u{300}": "`", "\u{301}": "´", "\u{302}": "^", "\u{303}": "~", "\u{304}": "¯", "\u{306}": "˘",
    "\u{307}": "˙", "\u{308}": "¨", "\u{30A}": "˚", "\u{30B}": "˝", "\u{30C}": "ˇ", "\u{327}": "¸",
    "\u{328}": "˛",
  ]

  /// Macros for letters and symbols.
  static let symbols: [String: String] = [
    "ss": "ß", "SS": "ẞ", "o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ae": "æ", "AE": "Æ", "oe": "œ", "OE": "Œ",
    "aa": "å", "AA": "Å", "i": "ı", "j": "ȷ", "dh": "ð", "DH": "Ð", "th": "þ", "TH": "Þ", "dj": "đ",
    "DJ": "Đ",
    "ng": "ŋ", "NG": "Ŋ", "S": "§", "P": "¶", "pounds": "£", "copyright": "©", "dots": "…", "ldots": "…",
    "textellipsis": "…", "textendash": "–", "textemdash": "—", "textquoteleft": "‘", "textquoteright": "’",
    "textquotedblleft": "“", "textquotedblright": "”", "textquotedbl": "\"", "textquotesingle": "'",
    "quotesinglbase": "‚", "quotedblbase": "„", "guillemotleft": "«", "guillemotright": "»",
    "guilsinglleft": "‹", "guilsinglright": "›", "textexclamdown": "¡", "textquestiondown": "¿",
    "texteuro": "€", "euro": "€", "textsterling": "£", "textregistered": "®", "texttrademark": "™",
    "textcopyright": "©", "textdegree": "°", "textmu": "µ", "textperiodcentered": "·", "textbullet": "•",
    "textless": "<", "textgreater": ">", "textbar": "|", "textdollar": "$", "textunderscore": "_",
    "textasciitilde": "~", "textasciicircum": "^", "textasciigrave": "`", "textbackslash": "\\",
    "textbraceleft": "{", "textbraceright": "}", "lbrace": "{", "rbrace": "}", "textpm": "±",
    "texttimes": "×",
    "textonesuperior": "¹", "texttwosuperior": "²", "textthreesuperior": "³", "textordfeminine": "ª",
    "textordmasculine": "º", "newline": "\n", "slash": "/", "space": " ",
  ]

  /// Macros for formatting, which are removed; their text is kept.
  static let looks: Set<String> = [
    "emph", "textit", "textbf", "textsc", "texttt", "textrm", "textsf", "textsl", "textup", "textmd",
    "textnormal", "text", "mbox", "em", "it", "bf", "sc", "tt", "rm", "sf", "sl", "itshape", "bfseries",
    "scshape", "upshape", "ttfamily", "rmfamily", "sffamily", "relax", "protect", "mkbibemph", "mkbibitalic",
    "mkbibbold",
  ]

  static let superscripts = forms(
    "0123456789+-=()abcdefghijklmnoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
  static let subscripts = forms("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")

  private static func forms(_ plain: String, _ other: String) -> [Unicode.Scalar: Unicode.Scalar] {
    Dictionary(uniqueKeysWithValues: zip(plain.unicodeScalars, other.unicodeScalars))
  }
}
