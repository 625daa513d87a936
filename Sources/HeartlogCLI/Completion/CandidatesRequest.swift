import Heartlog

/// The hidden command `heartlog __complete SHELL KIND HEAD CURRENT WORD …`, which the completion scripts run.
///
/// It prints what the store knows of a kind and begins with the word that is being typed, one candidate a line. It prints nothing else, no
/// error either, and changes nothing. HEAD is the part of the word that the shell does not replace; bash ends it at each colon and equals
/// sign. The other words are those before the current one. Those of bash are as they were typed, and its candidates are quoted; zsh and
/// fish do this themselves.
struct CandidatesRequest {
  static let name = "__complete"
  /// More would not be read.
  static let countMax = 200

  let shell: String
  let kind: String
  let head: String
  let current: String
  let words: [String]
  let environment: [String: String]

  init?(_ arguments: [String], environment: [String: String]) {
    guard arguments.first == Self.name else { return nil }
    let given = arguments + Array(repeating: "", count: max(0, 5 - arguments.count))
    (shell, kind, head, current) = (given[1], given[2], given[3], given[4])
    words = Array(arguments.dropFirst(5))
    self.environment = environment
  }

  /// The lines to print.
  func lines(clock: LocalClock) -> [String] {
    guard let head = word(head), let typed = word(current),
      let last = word(String(current.dropFirst(self.head.count))),
      case let before = words.compactMap({ shell == "bash" ? self.word($0)?.text : $0 }),
      before.count == words.count
    else { return [] }
    let parser = ArgumentParser(table: .heartlog, clock: clock)
    // The last word may be an option whose value is being typed.
    guard let start = parser.parseStart(before) ?? parser.parseStart(before.dropLast()),
      let path = try? StoreLocation.directory(option: start.store.map(expanded), environment: environment),
      let found = FavoritesStore.glance(
        at: path, { candidates(in: $0, startingWith: typed.text, start.library) })
    else { return [] }
    return found.prefix(Self.countMax).filter { candidate in
      // Programs take a word that begins with a hyphen for an option, and terminals take control characters for commands.
      (!candidate.utf8.starts(with: "-".utf8) || before.contains("--"))
        && !candidate.unicodeScalars.contains(where: ValueKind.isControl)
        && candidate.utf8.starts(with: typed.text.utf8)
    }.map { candidate in
      guard shell == "bash" else { return candidate }
      let rest = String(decoding: candidate.utf8.dropFirst(head.text.utf8.count), as: UTF8.self)
      return ShellWord.bash(rest, after: last.openQuote)
    }
  }

  private func word(_ raw: String) -> ShellWord? {
    shell == "fish" ? ShellWord(fish: raw) : shell == "bash" ? ShellWord(bash: raw) : ShellWord(raw)
  }

  /// Expands a tilde, as the shell will.
  private func expanded(_ path: String) -> String {
    guard path.hasPrefix("~/"), let home = environment["HOME"] else { return path }
    return home + path.dropFirst()
  }

  private func candidates(in state: FavoritesState, startingWith prefix: String, _ library: String?)
    -> [String]
  {
    switch kind {
    // The scripts know the others.
    case "library": state.libraries.filter { !ValueKind.libraries.contains($0) }
    case "item": library.map { state.ids(in: $0, startingWith: prefix, limit: Self.countMax) } ?? []
    case "collection":
      library.map { library in
        state.fieldNames(in: library, startingWith: ItemCollection.field(of: prefix))
          .compactMap(ItemCollection.name(ofField:))
      } ?? []
    case "replica": state.heads.map { String($0.replica.description.prefix(EventLine.prefixDigits)) }
    default: []
    }
  }
}
