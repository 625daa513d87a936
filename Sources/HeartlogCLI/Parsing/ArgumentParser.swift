/// Parses a command line by a table of commands.
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

  let table: CommandTable
  /// The clock for words like "yesterday".
  let clock: LocalClock

  /// Parses the words after the program's name. A request for help or for the version takes precedence over everything after it
  /// and over missing arguments.
  func parse(_ words: [String]) throws(CommandError) -> Result {
    var state = State(table: table, clock: clock, rest: words[...])
    try state.readAll()
    let request: Request
    if state.has(.version) {
      request = .version
    } else if state.has(.help) {
      request = .help(state.command)
    } else if let command = state.command {
      request = .command(try state.arguments(of: command))
    } else {
      request = .help(nil)
    }
    return Result(request: request, store: state.values[.store]?.first, isJSON: state.has(.json))
  }

  /// The store and the library that are named at the start of a command line that is being typed; nil if it is not one.
  func parseStart(_ words: some Sequence<String>) -> (store: String?, library: String?)? {
    var state = State(table: table, clock: clock, rest: Array(words)[...])
    guard (try? state.readAll()) != nil, let command = state.command else { return nil }
    let option = command.options.first { $0.value?.kind == .library }
    let argument = command.arguments.firstIndex { $0.kind == .library }
    let library =
      option.flatMap { state.values[$0]?.first }
      ?? argument.flatMap { state.positionals.indices.contains($0) ? state.positionals[$0] : nil }
    return (state.values[.store]?.first, library)
  }

  private struct State {
    let table: CommandTable
    let clock: LocalClock
    var rest: ArraySlice<String>
    var command: CommandDescription?
    var positionals: [String] = []
    var values: [Option: [String]] = [:]

    /// The options that are valid at the current word.
    var options: [Option] { (command?.options ?? []) + table.globalOptions }

    func has(_ option: Option) -> Bool { values[option] != nil }

    mutating func readAll() throws(CommandError) {
      var optionsHaveEnded = false
      while let word = rest.popFirst() {
        if optionsHaveEnded || Self.isArgument(word) {
          if command == nil {
            command = try table.command(named: word)
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
          if command == nil, let next = rest.first(where: Self.isArgument) { command = table[next] }
          return
        }
      }
    }

    /// `-` is standard input, and `-7` and `-.5` are numbers.
    static func isArgument(_ word: String) -> Bool {
      var bytes = word.utf8.makeIterator()
      guard bytes.next() == UInt8(ascii: "-"), var next = bytes.next() else { return true }
      if next == UInt8(ascii: ".") { next = bytes.next() ?? 0 }
      return (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next)
    }

    mutating func readLong(_ word: String) throws(CommandError) {
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
    mutating func readShort(_ word: String) throws(CommandError) {
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

    mutating func nextValue(of option: Option) throws(CommandError) -> String {
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

    mutating func record(_ value: String, for option: Option) throws(CommandError) {
      if !option.isRepeatable, has(option) { throw .usage("\(option.spelling) is given twice") }
      try option.value?.kind.check(value, label: option.spelling, clock: clock)
      values[option, default: []].append(value)
    }

    func unknown(_ spelling: String) -> CommandError {
      let subject = command.map { "\($0.name) has" } ?? "there is"
      let hint: String
      if let owner = table.commands.first(where: { $0.options.contains { $0.spellings.contains(spelling) } }),
        command == nil
      {
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

    func arguments(of command: CommandDescription) throws(CommandError) -> Arguments {
      let usage = "Usage: \(command.usage.joined(separator: " "))"
      var rest = positionals[...]
      var assigned: [Argument: [String]] = [:]
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
        assigned[argument] = texts
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
}
