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
  /// For each open group, whether its braces are part of the text because it is the argument of an unknown
  /// macro.
  private var groups: [Bool] = []
  private var argumentFollows = false

  init(_ value: String, isAddress: Bool = false) {
    scalars = Array(value.unicodeScalars)
    self.isAddress = isAddress
    math = LaTeXMath(scalars)
  }

  mutating func text() -> String {
    while index < scalars.count {
      let isArgument = argumentFollows
      argumentFollows = false
      let scalar = scalars[index]
      switch scalar {
      case " ", "\t", "\r", "\n":
        needsSpace = !output.isEmpty
        index += 1
      case "{":
        groups.append(isArgument)
        if isArgument { emit(scalar) }
        index += 1
      case "}":
        if groups.popLast() == true {
          emit(scalar)
          argumentFollows = true
        }
        index += 1
      case "\\": macro()
      case "~" where !isAddress:
        emit(" ")
        index += 1
      case "$" where !isAddress: takeMath()
      default:
        emit(scalar)
        index += 1
      }
    }
    return String(output)
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
    for scalar in scalars[index..<end] {
      if scalar == " " || ("\t"..."\r").contains(scalar) {
        needsSpace = true
      } else {
        emit(scalar)
      }
    }
    index = end
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
      if !isAddress, let mark = LaTeXMacros.signAccents[sign] {
        accent(mark, named: String(sign), argumentAt: index + 2)
      } else {
        index += 2
        self.sign(sign)
      }
    } else if !isAddress, let mark = LaTeXMacros.letterAccents[name] {
      accent(mark, named: name, argumentAt: index + 1 + name.utf8.count)
    } else if let symbol = LaTeXMacros.symbols[name] {
      index = afterWord(index + 1 + name.utf8.count)
      emit(symbol)
    } else if name == "symbol", let (scalar, end) = numbered(at: index + 7) {
      index = end
      emit(scalar)
    } else if LaTeXMacros.looks.contains(name) {
      index = afterSpace(index + 1 + name.utf8.count)
    } else {
      index += 1 + name.utf8.count
      emit("\\" + name)
      argumentFollows = true
    }
  }

  /// Handles a macro whose name is a sign, and which is not an accent.
  private mutating func sign(_ sign: Unicode.Scalar) {
    switch sign {
    case "{", "}", "%", "&", "#", "_", "$": emit(sign)
    case "~" where isAddress, "^" where isAddress:
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
      argumentFollows = true
      return
    }
    index = base.end
    if base.opensGroup { groups.append(false) }
    emit(Self.accented(base.text, mark))
  }

  private static func accented(_ base: String, _ mark: Unicode.Scalar) -> String {
    if base.isEmpty { return LaTeXMacros.spacing[mark] ?? "" }
    let dotted = base == "ı" ? "i" : base == "ȷ" ? "j" : base
    return (dotted + String(mark)).composed
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
    "scshape", "upshape", "ttfamily", "rmfamily", "sffamily", "url", "nolinkurl", "relax", "protect",
  ]
}
