/// A positional argument of a command.
struct Argument: Hashable, Sendable {
  enum Presence: Hashable, Sendable {
    case required
    case optional
    /// Zero or more. Only the last argument of a command can be variadic.
    case variadic
  }

  /// The name in the help, in capitals.
  let name: String
  /// What the usage line shows instead of the name.
  let form: String
  let presence: Presence
  let kind: ValueKind
  let summary: String

  init(
    _ name: String, form: String? = nil, _ presence: Presence = .required, _ kind: ValueKind = .text,
    _ summary: String
  ) {
    self.name = name
    self.form = form ?? name
    self.presence = presence
    self.kind = kind
    self.summary = summary
  }

  /// The argument in the usage line.
  var usage: String {
    switch presence {
    case .required: form
    case .optional: "[\(form)]"
    case .variadic: "[\(form) …]"
    }
  }
}

extension Argument {
  static let library = Argument(
    "LIBRARY", .required, .library,
    "One of \(ValueKind.libraries.dropLast().joined(separator: ", ")) and \(ValueKind.libraries.last ?? ""), "
      + "or a name of your own.")
  static let item = Argument("ID", .required, .item, "The item's id, as its library writes it.")
  static let fields = Argument(
    "FIELD", form: "FIELD=text | FIELD:=json", .variadic, .field,
    "A field to write: the value after = is text, the value after := is JSON (a number, true, null, a list …)."
  )
}
