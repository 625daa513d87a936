/// What macros of LaTeX stand for in the text of bibliographies.
enum LaTeXMacros {
  /// Accents called by a sign, as the combining mark that they are: `\'e`.
  static let signAccents: [Unicode.Scalar: Unicode.Scalar] = [
    "`": "\u{300}", "'": "\u{301}", "^": "\u{302}", "~": "\u{303}", "=": "\u{304}", ".": "\u{307}",
    "\"": "\u{308}",
  ]

  /// Accents called by a letter: `\c{c}`.
  static let letterAccents: [String: Unicode.Scalar] = [
    "u": "\u{306}", "r": "\u{30A}", "H": "\u{30B}", "v": "\u{30C}", "d": "\u{323}", "c": "\u{327}",
    "k": "\u{328}", "b": "\u{331}", "t": "\u{361}",
  ]

  /// An accent over nothing: `\~{}`.
  static let spacing: [Unicode.Scalar: String] = [
    "\u{300}": "`", "\u{301}": "´", "\u{302}": "^", "\u{303}": "~", "\u{304}": "¯", "\u{306}": "˘",
    "\u{307}": "˙", "\u{308}": "¨", "\u{30A}": "˚", "\u{30B}": "˝", "\u{30C}": "ˇ", "\u{327}": "¸",
    "\u{328}": "˛",
  ]

  /// Letters and signs of their own.
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

  /// Macros that say how a text looks: the text stays, and they go.
  static let looks: Set<String> = [
    "emph", "textit", "textbf", "textsc", "texttt", "textrm", "textsf", "textsl", "textup", "textmd",
    "textnormal", "text", "mbox", "em", "it", "bf", "sc", "tt", "rm", "sf", "sl", "itshape", "bfseries",
    "scshape", "upshape", "ttfamily", "rmfamily", "sffamily", "url", "nolinkurl", "relax", "protect",
  ]
}
