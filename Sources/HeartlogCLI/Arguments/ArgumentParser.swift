import Heartlog

/// Parses a command line by the table of commands.
struct ArgumentParser: Sendable {
  enum Request {
    case help(CommandDescription?)
    case version
    case command(Arguments)
  }

  struct Result {
    let request: Request
    let store: String?
    let isJSON: Bool
  }

  /// The clock for words like "yesterday".
  let clock: LocalClock
  private var rest: ArraySlice<String> = []
  private var command: CommandDescription?
  private var optionsHaveEnded = false
  private var positionals: [String] = []
  private var values: [String: [String]] = [:]

  init(clock: LocalClock) { self.clock = clock }

  /// Parses the words after the program's name. A request for help or for the version takes precedence over everything after it
  /// and over missing arguments.
  func parse(_ words: [String]) throws(CommandError) -> Result {
    var parser = self
    try parser.read(words)
    let request: Request =
      if parser.has(.version) {
        .version
      } else if let command = parser.command, !parser.has(.help) {
        .command(try parser.arguments(of: command))
      } else {
        .help(parser.command)
      }
    return Result(request: request, store: parser.values[Option.store.name]?.first, isJSON: parser.has(.json))
  }

  /// What a command line that is being typed says before its last word, and what that word can be.
  struct Beginning {
    let store: String?
    let library: String?
    /// The options that the word can be, if it is none yet.
    var options: [Option] = []
    /// The kind of value that the word can be, after its `valuePrefix`, which is `--order=` or nothing.
    var kind: ValueKind?
    var valuePrefix = ""
  }

  /// Reads a command line that is being typed; nil if it is not one.
  func beginning(_ words: [String], current: String) -> Beginning? {
    var parser = self
    if (try? parser.read(words)) != nil { return parser.beginning(current) }
    // The last word may be an option whose value is being typed.
    parser = self
    guard let last = words.last, (try? parser.read(words.dropLast())) != nil, !parser.optionsHaveEnded,
      let option = parser.options.first(where: { $0.needsValue && $0.spellings.contains(last) })
    else { return nil }
    var beginning = parser.named
    beginning.kind = option.value?.kind
    return beginning
  }

  private func beginning(_ current: String) -> Beginning {
    var beginning = named
    if !optionsHaveEnded, current.utf8.first == UInt8(ascii: "-") {
      if let equals = current.utf8.firstIndex(of: UInt8(ascii: "=")) {
        beginning.valuePrefix = String(current[...equals])
        beginning.kind = options.first { $0.spellings.contains(String(current[..<equals])) }?.value?.kind
      } else {
        beginning.options = options
      }
    } else if let command {
      let arguments = command.arguments
      let isMore = positionals.count >= arguments.count && arguments.last?.presence == .variadic
      beginning.kind = isMore ? arguments.last?.kind : arguments.dropFirst(positionals.count).first?.kind
    } else {
      beginning.kind = .command
    }
    return beginning
  }

  private var named: Beginning {
    let option = command?.options.first { $0.value?.kind == .library }
    let argument = command?.arguments.firstIndex { $0.kind == .library }
    let library =
      option.flatMap { values[$0.name]?.first }
      ?? argument.flatMap { positionals.indices.contains($0) ? positionals[$0] : nil }
    return Beginning(store: values[Option.store.name]?.first, library: library)
  }

  /// The options that are valid at the current word.
  private var options: [Option] { (command?.options ?? []) + CommandTable.globalOptions }

  private func has(_ option: Option) -> Bool { values[option.name] != nil }

  private mutating func read(_ words: some Sequence<String>) throws(CommandError) {
    rest = Array(words)[...]
    while let word = rest.popFirst() {
      if optionsHaveEnded || Self.isArgument(word) {
        if command == nil {
          command = try CommandTable.command(named: word)
        } else {
          positionals.append(word)
        }
      } else if word == "--" {
        optionsHaveEnded = true
      } else if word.utf8.starts(with: "--".utf8) {
        try readLong(word)
      } else {
        try readShort(word)
      }
      if has(.help) || has(.version) {
        // `--help add` asks for the page of add.
        if command == nil, let next = rest.first(where: Self.isArgument) { command = CommandTable[next] }
        return
      }
    }
  }

  /// `-` is standard input, and `-7` and `-.5` are numbers.
  private static func isArgument(_ word: String) -> Bool {
    var bytes = word.utf8.makeIterator()
    guard bytes.next() == UInt8(ascii: "-"), var next = bytes.next() else { return true }
    if next == UInt8(ascii: ".") { next = bytes.next() ?? 0 }
    return (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next)
  }

  private mutating func readLong(_ word: String) throws(CommandError) {
    let body = word.dropFirst(2)
    let equals = body.utf8.firstIndex(of: UInt8(ascii: "="))
    let name = body[..<(equals ?? body.endIndex)]
    guard let option = options.first(where: { $0.long.map { $0 == name } ?? false }) else {
      throw unknown("--\(name)")
    }
    let attached = equals.map { String(body[body.utf8.index(after: $0)...]) }
    if option.value == nil {
      if attached != nil { throw .usage("\(option.spelling) takes no value") }
      try record("", for: option)
    } else {
      if let attached {
        try record(attached, for: option)
      } else if let value = option.value, let ifAbsent = value.ifAbsent {
        let isGiven =
          rest.first.map { (try? value.kind.check($0, label: "", clock: clock)) != nil } ?? false
        try record(isGiven ? rest.removeFirst() : ifAbsent, for: option)
      } else {
        try record(try nextValue(of: option), for: option)
      }
    }
  }

  /// `-f`, `-n 5`, `-n5`, and combined flags.
  private mutating func readShort(_ word: String) throws(CommandError) {
    var letters = word.dropFirst()
    while let letter = letters.popFirst() {
      guard let option = options.first(where: { $0.short == letter }) else { throw unknown("-\(letter)") }
      if option.value == nil {
        try record("", for: option)
      } else {
        try record(letters.isEmpty ? try nextValue(of: option) : String(letters), for: option)
        return
      }
    }
  }

  private mutating func nextValue(of option: Option) throws(CommandError) -> String {
    let value = option.value?.name ?? ""
    guard let next = rest.first, next != "--" else { throw .usage("\(option.spelling) needs \(value)") }
    // `--store --json` is a forgotten directory, not one of that name.
    if options.contains(where: { $0.spellings.contains(next) }) {
      throw .usage(
        "\(option.spelling) needs \(value), but \(next) is an option",
        hint: option.long.map { "To use it as the value, write --\($0)=\(next)." })
    }
    rest.removeFirst()
    return next
  }

  private mutating func record(_ value: String, for option: Option) throws(CommandError) {
    if !option.isRepeatable, has(option) { throw .usage("\(option.spelling) is given twice") }
    try option.value?.kind.check(value, label: option.spelling, clock: clock)
    values[option.name, default: []].append(value)
  }

  private func unknown(_ spelling: String) -> CommandError {
    let subject = command.map { "\($0.name) has" } ?? "there is"
    let hint: String
    let owner = CommandTable.commands.first { $0.options.contains { $0.spellings.contains(spelling) } }
    if command == nil, let owner {
      hint = "Write it after the command: heartlog \(owner.name) … \(spelling)"
    } else {
      let known = options.flatMap(\.spellings)
      hint =
        NearestMatch.hint(for: spelling, among: known)
        ?? command.map { "\"heartlog help \($0.name)\" lists the options; -- ends them." }
        ?? "\"heartlog help\" lists the options."
    }
    return .usage("\(subject) no option \(Quoted(spelling))", hint: hint)
  }

  private func arguments(of command: CommandDescription) throws(CommandError) -> Arguments {
    let usage = "Usage: \(command.usage.joined(separator: " "))"
    var rest = positionals[...]
    var assigned: [String: [String]] = [:]
    for argument in command.arguments {
      let texts: [String]
      if argument.presence == .variadic {
        texts = Array(rest)
        rest = []
      } else if let text = rest.popFirst() {
        texts = [text]
      } else if argument.presence == .required {
        throw .usage("\(command.name) needs \(missing(from: argument, in: command))", hint: usage)
      } else {
        texts = []
      }
      for text in texts { try argument.kind.check(text, label: argument.name, clock: clock) }
      assigned[argument.name] = texts
    }
    if let surplus = rest.first {
      let most = command.arguments.isEmpty ? "takes no arguments" : "takes no more arguments"
      throw .usage("\(command.name) \(most): \(Quoted(surplus))", hint: usage)
    }
    return Arguments(command: command, positionals: assigned, values: values, clock: clock)
  }

  /// `LIBRARY and ID`: the required arguments from `first` on.
  private func missing(from first: Argument, in command: CommandDescription) -> String {
    command.arguments.drop { $0 != first }.filter { $0.presence == .required }.map(\.name)
      .joined(separator: " and ")
  }
}

/// The arguments and options of one command, looked up by their descriptions, against which the parser has checked them.
struct Arguments: Sendable {
  let command: CommandDescription
  fileprivate let positionals: [String: [String]]
  fileprivate let values: [String: [String]]
  fileprivate let clock: LocalClock

  /// The text of a required argument.
  func text(_ argument: Argument) -> String {
    precondition(argument.presence == .required, "only a required argument always has a text")
    return texts(argument).first ?? ""
  }

  /// The text of an optional argument; nil if it was not given.
  func optionalText(_ argument: Argument) -> String? { texts(argument).first }

  func texts(_ argument: Argument) -> [String] {
    precondition(command.arguments.contains(argument), "the command has no \(argument.name)")
    return positionals[argument.name] ?? []
  }

  /// The arguments that were given, without their names.
  var words: [String] { command.arguments.flatMap { positionals[$0.name] ?? [] } }

  /// The names of the options that were given, without dashes.
  var optionNames: Set<String> { Set(values.keys) }

  /// Whether the option was given.
  func has(_ option: Option) -> Bool { !texts(option).isEmpty }

  func text(_ option: Option) -> String? { texts(option).first }

  /// The values of an option in the order given; each occurrence of a flag is an empty string.
  func texts(_ option: Option) -> [String] {
    precondition(command.options.contains(option), "the command has no \(option.spelling)")
    return values[option.name] ?? []
  }

  /// The path of a file; nil for `-`, a standard stream, and if none was given.
  func path(_ option: Option) -> String? { Self.path(text(option)) }

  func path(_ argument: Argument) -> String? { Self.path(optionalText(argument)) }

  private static func path(_ text: String?) -> String? { text == "-" ? nil : text }

  func count(_ option: Option) -> Int? { text(option).flatMap { Int($0) } }

  /// The moment of an option; nil if it was not given. The parser has checked that it is one.
  func moment(_ option: Option) -> Moment? {
    text(option).flatMap { try? Moment($0, label: option.spelling, clock: clock) }
  }

  /// The moment of an argument; nil if it was not given.
  func moment(_ argument: Argument) -> Moment? {
    optionalText(argument).flatMap { try? Moment($0, label: argument.name, clock: clock) }
  }

  /// Throws if one of these options is given without what it belongs to.
  func allow(_ options: Option..., onlyWith what: String, if isMet: Bool) throws(CommandError) {
    guard let option = options.first(where: has), !isMet else { return }
    throw command.misused("\(option.spelling) can be used with \(what) only")
  }

  /// Throws if an option is given together with one that contradicts it.
  func refuse(_ option: Option, with others: Option...) throws(CommandError) {
    guard has(option), let other = others.first(where: has) else { return }
    throw command.misused("\(option.spelling) cannot be used with \(other.spelling)")
  }

  /// The events that were given.
  func events(_ argument: Argument) -> [Moment] { texts(argument).compactMap(Moment.event) }

  func events(_ option: Option) -> [Moment] { texts(option).compactMap(Moment.event) }
}

/// The item that a command writes, and what it writes of it.
struct ItemArguments {
  let library: String
  let item: String
  let fields: [Field]
  /// The favorited date, in milliseconds since 1970; nil for now.
  let date: Milliseconds?

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    item = arguments.text(.item)
    fields = try Self.fields(arguments.texts(Argument.fields), object: arguments.text(Option.fields))
    for field in fields {
      do throws(MalformedError) { try NameRules.checkFieldName(field.name) } catch {
        throw .usage("\(Quoted(field.name)) is not a valid field name: \(error.reason)")
      }
    }
    date = arguments.command.options.contains(.date) ? arguments.moment(.date)?.first : nil
  }

  /// Reads `FIELD=text` and `FIELD:=json` arguments, and after them the JSON object of `--fields`. Names are unique.
  static func fields(_ texts: [String], object: String?) throws(CommandError) -> [Field] {
    var all: [Field] = []
    for text in texts { all.append(try assignment(text)) }
    if let object {
      do throws(MalformedError) {
        let json = try JSONValue.parse(Array(object.utf8), depthMax: Limits.jsonDepthMax + 1)
        guard case .object(let members) = json else { throw MalformedError("it is \(json.kind)") }
        for member in members { all.append(try Field(member)) }
      } catch {
        throw .usage(
          "--fields is not a JSON object of field values: \(error.reason)",
          hint: "Write it in single quotes: --fields '{\"title\": \"Solaris\", \"year\": 1972}'")
      }
    }
    var names: Set<[UInt8]> = []
    for assignment in all {
      guard !assignment.name.isEmpty else { throw .usage("the name of a field is empty", hint: hint) }
      // As bytes: names are not normalized, but String compares é and e + accent as equal.
      guard names.insert(Array(assignment.name.utf8)).inserted else {
        throw .usage("the field \(Quoted(assignment.name)) is given twice")
      }
    }
    return all
  }

  private static let hint = "Write FIELD=text, or FIELD:=json for a number, true, null or a list."

  /// Whichever of `=` and `:=` comes first decides. Compares bytes, since a combining accent after `=` would make it another
  /// character.
  private static func assignment(_ text: String) throws(CommandError) -> Field {
    guard let equals = text.utf8.firstIndex(of: UInt8(ascii: "=")) else {
      throw .usage("\(Quoted(text)) is not a field", hint: hint)
    }
    var name = text.utf8[..<equals]
    let value = text.utf8[text.utf8.index(after: equals)...]
    guard name.last == UInt8(ascii: ":") else {
      return Field(name: String(Substring(name)), value: .string(String(Substring(value))))
    }
    name.removeLast()
    do throws(MalformedError) {
      let json = try JSONValue.parse(Array(value), depthMax: Limits.jsonDepthMax)
      return Field(name: String(Substring(name)), value: try FieldValue(json))
    } catch {
      throw .usage(
        "\(Quoted(text)) has no valid JSON value: \(error.reason)",
        hint: "For text, write = instead of :=")
    }
  }
}
