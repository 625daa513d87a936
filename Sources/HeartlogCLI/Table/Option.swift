/// An option of a command: `--long VALUE`, `-s VALUE`, or a flag without a value.
struct Option: Hashable, Sendable {
  struct Value: Hashable, Sendable {
    /// The name in the help, in capitals.
    let name: String
    let kind: ValueKind
    /// The value if the next word is none; nil if the option always needs a value.
    var ifAbsent: String?

    /// `N`, or `[N]` if it may be absent.
    var synopsis: String { ifAbsent == nil ? name : "[\(name)]" }
  }

  let long: String?
  let short: Character?
  /// nil for a flag.
  let value: Value?
  let isRepeatable: Bool
  let summary: String

  static func flag(_ long: String, short: Character? = nil, _ summary: String) -> Option {
    Option(long: long, short: short, value: nil, isRepeatable: true, summary: summary)
  }

  static func value(
    _ long: String? = nil, short: Character? = nil, _ name: String, _ kind: ValueKind,
    isRepeatable: Bool = false, _ summary: String
  ) -> Option {
    precondition(long != nil || short != nil, "an option needs a name")
    return Option(
      long: long, short: short, value: Value(name: name, kind: kind), isRepeatable: isRepeatable,
      summary: summary)
  }

  /// An option whose value may be absent: `--last`, `--last 3` or `--last=3`. The next word is its value only if it is one of that kind.
  static func optionalValue(
    _ long: String, _ name: String, _ kind: ValueKind, ifAbsent: String, _ summary: String
  ) -> Option {
    Option(
      long: long, short: nil, value: Value(name: name, kind: kind, ifAbsent: ifAbsent), isRepeatable: false,
      summary: summary)
  }

  /// Whether the next word always is its value.
  var needsValue: Bool { value.map { $0.ifAbsent == nil } ?? false }

  /// The names with their dashes, the short one first.
  var spellings: [String] { [short.map { "-\($0)" }, long.map { "--\($0)" }].compactMap { $0 } }

  /// The name in messages.
  var spelling: String { long.map { "--\($0)" } ?? spellings[0] }

  /// `-f, --follow` or `--limit N`.
  var synopsis: String { spellings.joined(separator: ", ") + (value.map { " \($0.synopsis)" } ?? "") }

  /// `[--limit N]`, the option in the usage line.
  var usage: String { "[\(spelling)\(value.map { " \($0.synopsis)" } ?? "")]\(isMany ? " …" : "")" }

  private var isMany: Bool { isRepeatable && value != nil }
}

extension Option {
  static let store = Option.value(
    "store", "DIR", .directory,
    "The store. Default: $HEARTLOG_STORE, or else a store in your data directory.")
  static let json = Option.flag("json", "Print JSON Lines: one object per line, for programs.")
  static let version = Option.flag("version", "Print the version.")
  static let help = Option.flag("help", short: "h", "Print help for heartlog or for a command.")

  static let stdio = Option.flag("stdio", "Use standard input and output.")
  static let join = Option.flag("join", "Join the vault of the peer, although this store belongs to another.")

  static let at = Option.value(
    "at", "WHEN", .moment,
    "Show what the store contained at that moment. A date means its end; an event or a commit means it and everything before it in the log's order."
  )
  static let fields = Option.value(
    "fields", "JSON", .json, "Fields as one JSON object, alone or together with FIELD arguments.")
  static let date = Option.value(
    "date", "WHEN", .date, "The favorited date: a date, a time, or \"2 days ago\". Default: now.")
}
