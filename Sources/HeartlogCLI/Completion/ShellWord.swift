/// A word of a command line as it was typed, possibly unfinished, and as the shell will pass it on.
struct ShellWord: Equatable {
  /// The word without its quotes.
  let text: String
  /// The quote that is still open at its end.
  let openQuote: Unicode.Scalar?

  /// A word that has no quotes any more.
  init(_ text: String) {
    self.text = text
    openQuote = nil
  }

  /// Reads a word as it was typed in bash; nil if its text depends on an expansion.
  init?(bash raw: String) { self.init(raw, escapedInSingle: []) }

  /// Reads a word as it was typed in fish, which knows `\'` and `\\` between single quotes.
  init?(fish raw: String) { self.init(raw, escapedInSingle: ["'", "\\"]) }

  // By scalars: a mark may combine with a quote before it.
  private init?(_ raw: String, escapedInSingle: Set<Unicode.Scalar>) {
    var text = String.UnicodeScalarView()
    var quote: Unicode.Scalar?
    var rest = raw.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      switch (scalar, quote) {
      case ("\\", let open?):
        let escaped = open == "'" ? escapedInSingle : Self.escapedInDouble
        text.append(rest.first.map(escaped.contains) == true ? rest.removeFirst() : "\\")
      case ("\\", nil): if let next = rest.popFirst() { text.append(next) }
      case ("'", nil), ("\"", nil): quote = scalar
      case (_, let open?) where scalar == open: quote = nil
      case ("$", nil), ("`", nil), ("$", "\""), ("`", "\""): return nil
      default: text.append(scalar)
      }
    }
    self.text = String(text)
    openQuote = quote
  }

  private static let escapedInDouble: Set<Unicode.Scalar> = ["$", "`", "\"", "\\"]

  /// A text as it can stand in a bash command line, after the quote that is open there. bash adds the closing quote, unless the text ends
  /// with that quote already, escaped or not.
  static func bash(_ text: String, after openQuote: Unicode.Scalar?) -> String {
    var quoted = text.unicodeScalars.reduce(into: "") { result, scalar in
      switch openQuote {
      case "'": result += scalar == "'" ? "'\\''" : String(scalar)
      // Between double quotes bash expands the history, and keeps a backslash before the mark.
      case "\"" where scalar == "!": result += "\"'!'\""
      case "\"": result += (escapedInDouble.contains(scalar) ? "\\" : "") + String(scalar)
      default: result += (isPlain(scalar) ? "" : "\\") + String(scalar)
      }
    }
    if let openQuote, quoted.unicodeScalars.last == openQuote { quoted.unicodeScalars.append(openQuote) }
    return quoted
  }

  /// Whether a character has no meaning to a shell anywhere in a word.
  private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ".", "/", ":", "=", "@", "%", "+", ",": true
    default: !scalar.isASCII
    }
  }
}
