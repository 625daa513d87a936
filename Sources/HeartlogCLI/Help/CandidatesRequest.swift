import Heartlog

/// The hidden command `heartlog __complete SHELL HEAD CURRENT WORD …`, which the completion scripts run.
///
/// The first line says what follows: `words`, one candidate for CURRENT a line, in fish and zsh with a tab and its description; or `files` or
/// `directories`, which the shell knows itself. It prints nothing else, no error either, and changes nothing. HEAD is the part of CURRENT that
/// the shell does not replace; bash ends it at each colon and equals sign. The other words are those before the current one. Those of bash are
/// as they were typed, and its candidates are quoted; zsh and fish do this themselves.
struct CandidatesRequest {
  static let name = "__complete"
  /// More would not be read.
  static let countMax = 200

  private typealias Candidate = (text: String, summary: String)

  let shell: String
  let head: String
  let current: String
  let words: [String]
  let environment: [String: String]

  init?(_ arguments: [String], environment: [String: String]) {
    guard arguments.first == Self.name else { return nil }
    let given = arguments + Array(repeating: "", count: max(0, 4 - arguments.count))
    (shell, head, current) = (given[1], given[2], given[3])
    words = Array(arguments.dropFirst(4))
    self.environment = environment
  }

  /// The lines to print.
  func lines(clock: LocalClock) -> [String] {
    guard ValueKind.shells.contains(shell), let head = word(head), let typed = word(current),
      let last = word(String(current.dropFirst(self.head.count))),
      case let before = words.compactMap({ shell == "bash" ? self.word($0)?.text : $0 }),
      before.count == words.count,
      let line = ArgumentParser(clock: clock).beginning(before, current: typed.text)
    else { return [] }
    if line.kind == .file { return ["files"] }
    if line.kind == .directory || line.kind == .peer { return ["directories"] }
    let values = values(of: line, startingWith: String(typed.text.dropFirst(line.valuePrefix.count)))
      .filter { value in
        // Programs take a word that begins with a hyphen for an option, and terminals take control characters for commands.
        (!value.text.utf8.starts(with: "-".utf8) || before.contains("--"))
          && !value.text.unicodeScalars.contains { $0.properties.generalCategory == .control }
      }.map { (text: line.valuePrefix + $0.text, summary: $0.summary) }
    let options = line.options.flatMap { option in option.spellings.map { ($0, option.summary) } }
    let candidates = (options + values).filter { $0.text.utf8.starts(with: typed.text.utf8) }
    return ["words"]
      + candidates.map { text, summary in
        guard shell == "bash" else { return summary.isEmpty ? text : "\(text)\t\(summary)" }
        let rest = String(decoding: text.utf8.dropFirst(head.text.utf8.count), as: UTF8.self)
        return ShellWord.bash(rest, after: last.openQuote)
      }
  }

  private func word(_ raw: String) -> ShellWord? {
    shell == "fish" ? ShellWord(fish: raw) : shell == "bash" ? ShellWord(bash: raw) : ShellWord(raw)
  }

  /// What the program and the store know of the kind of value that is typed.
  private func values(of line: ArgumentParser.Beginning, startingWith prefix: String) -> [Candidate] {
    switch line.kind {
    case .command: CommandTable.commands.map { ($0.name, $0.summary) }
    case .choice(let words): words.map { ($0, "") }
    case .library:
      ValueKind.libraries.map { ($0, "") }
        + stored(line) { state, _ in state.libraries.filter { !ValueKind.libraries.contains($0) } }
    case .item: stored(line) { $0.ids(in: $1, startingWith: prefix, limit: Self.countMax) }
    case .collection:
      stored(line) { state, library in
        state.fieldNames(in: library, startingWith: CollectionField.name(of: prefix))
          .compactMap(CollectionField.collection(of:))
      }
    case .replica: stored(line) { state, _ in state.heads.map(\.replica.short) }
    default: []
    }
  }

  /// What the store has, given its state and the library that the line names; no library has an empty name.
  private func stored(
    _ line: ArgumentParser.Beginning, _ read: (FavoritesState, _ library: String) -> [String]
  ) -> [Candidate] {
    guard
      let path = try? StoreLocation.directory(option: line.store.map(expanded), environment: environment)
    else { return [] }
    let found = FavoritesStore.glance(at: path) { read($0, line.library ?? "") } ?? []
    return found.prefix(Self.countMax).map { ($0, "") }
  }

  /// Expands a tilde, as the shell will.
  private func expanded(_ path: String) -> String {
    guard path.hasPrefix("~/"), let home = environment["HOME"] else { return path }
    return home + path.dropFirst()
  }
}

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
