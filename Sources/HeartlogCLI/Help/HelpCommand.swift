/// `heartlog help`: prints the overview, or the page of one command.
enum HelpCommand: Command {
  private static let topic = Argument("COMMAND", .optional, .command, "The command to describe.")

  static let description = CommandDescription(
    name: "help", group: .help, summary: "print help for heartlog or for a command",
    arguments: [topic],
    page: #"""
      Without COMMAND, lists all commands. "heartlog COMMAND --help" prints the same page.

      heartlog help add  # Print the help of add.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let command = try arguments.optionalText(Self.topic).map { try CommandTable.command(named: $0) }
    let page = HelpPage(style: context.style, width: context.width)
    try context.output.write(page.text(command))
    return .success
  }
}

/// The help pages.
struct HelpPage: Sendable {
  static let tagline = "favorites that remember"
  let style: Style
  private let width: Int

  /// `width` is nil if the output is not a terminal. Lines of more than 100 columns are hard to read.
  init(style: Style, width: Int?) {
    self.style = style
    self.width = min(100, max(40, width ?? 80))
  }

  /// The page of a command, or the overview.
  func text(_ command: CommandDescription?) -> String {
    (command.map(page) ?? overview()).joined(separator: "\n") + "\n"
  }

  private func overview() -> [String] {
    var lines = ["\(style(.favorite, "♥")) \(style(.heading, "heartlog")): \(Self.tagline)"]
    lines.append("\(style(.heading, "Usage:")) heartlog [--store DIR] [--json] COMMAND …")
    let groups = CommandDescription.Group.allCases
    let nameColumn = 2 + (groups.map(\.rawValue.count).max() ?? 0)
    let column = nameColumn + 2 + (CommandTable.commands.map(\.name.count).max() ?? 0)
    for group in groups {
      for (index, command) in CommandTable.commands(in: group).enumerated() {
        if index == 0 { lines.append("") }
        let heading = index == 0 ? group.rawValue : ""
        let summary = Paragraph.lines(command.summary, width: max(20, width - column))
        lines.append(
          style(.heading, heading) + String(repeating: " ", count: nameColumn - heading.count)
            + style(.name, command.name)
            + String(repeating: " ", count: column - nameColumn - command.name.count)
            + (summary.first ?? ""))
        lines += summary.dropFirst().map { String(repeating: " ", count: column) + $0 }
      }
    }
    let options = CommandTable.globalOptions.map(\.synopsis).joined(separator: "   ")
    lines += ["", "\(style(.heading, "Options:")) \(options)"]
    lines += Paragraph.lines(
      "\"heartlog help COMMAND\" describes a command. Begin with \"heartlog init\".", width: width)
    return lines
  }

  private func page(_ command: CommandDescription) -> [String] {
    let title = "heartlog \(command.name)"
    var lines = Paragraph.lines("\(title): \(command.summary)", width: width)
    if let first = lines.first { lines[0] = style(.heading, title) + first.dropFirst(title.count) }
    lines += [""] + usage(command)
    for paragraph in command.paragraphs { lines += [""] + Paragraph.lines(paragraph, width: width) }
    if !command.arguments.isEmpty {
      lines += ["", style(.heading, "Arguments")]
      lines += definitions(command.arguments.map { ($0.name, $0.summary) })
    }
    if !command.options.isEmpty {
      lines += ["", style(.heading, "Options")]
      lines += definitions(command.options.map { ($0.synopsis, $0.summary) })
    }
    lines += ["", style(.heading, command.examples.count == 1 ? "Example" : "Examples")]
    for example in command.examples {
      lines += Paragraph.lines("# \(example.note)", width: width - 2).map { "  \(style(.faint, $0))" }
      lines.append("  \(style(.name, example.line))")
    }
    let globals = CommandTable.globalOptions.map(\.spelling).joined(separator: ", ")
    let ending = "Options of all commands: \(globals). \"heartlog man\" describes them, and all exit codes."
    return lines + [""] + Paragraph.lines(ending, width: width)
  }

  /// `Usage:`, with all lines aligned at the first argument.
  private func usage(_ command: CommandDescription) -> [String] {
    let start = "Usage: heartlog \(command.name)"
    let rest = Paragraph.lines(
      Array(command.usage.dropFirst(2)), width: max(20, width - start.utf8.count - 1))
    let heading = "\(style(.heading, "Usage:")) heartlog \(command.name)"
    guard let first = rest.first else { return [heading] }
    let indent = String(repeating: " ", count: start.utf8.count + 1)
    return ["\(heading) \(first)"] + rest.dropFirst().map { indent + $0 }
  }

  private func definitions(_ pairs: [(term: String, text: String)]) -> [String] {
    let column = min(22, 4 + (pairs.map { DisplayText.width($0.term) }.max() ?? 0))
    return pairs.flatMap {
      Paragraph.definition($0.term, style(.name, $0.term), $0.text, column: column, width: width)
    }
  }
}

/// `heartlog man`: prints the man page as roff.
enum ManCommand: Command {
  static let description = CommandDescription(
    name: "man", group: .help, summary: "print the man page as roff",
    page: #"""
      The page describes every command, as "heartlog help" does.

      heartlog man | man -l -  # Read the page.
      heartlog man > /usr/local/share/man/man1/heartlog.1  # Install the page.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    try context.output.write(ManPage.text)
    return .success
  }
}

/// The man page heartlog(1), in the macros of man(7).
enum ManPage {
  static var text: String { lines.joined(separator: "\n") + "\n" }

  private static var lines: [String] {
    var lines = [".TH HEARTLOG 1 \"\" \"heartlog \(Version.text)\" \"Heartlog\""]
    lines += [".SH NAME", "heartlog \\- \(escaped(HelpPage.tagline))"]
    lines += [".SH SYNOPSIS", ".B heartlog"]
    lines.append("[\\fB\\-\\-store\\fR \\fIDIR\\fR] [\\fB\\-\\-json\\fR] \\fICOMMAND\\fR ...")
    lines.append(".SH DESCRIPTION")
    for paragraph in introduction { lines += [".PP", escaped(paragraph)] }
    lines += [".SH OPTIONS", "These options may stand before or after the command."]
    for option in CommandTable.globalOptions { lines += definition(synopsis(option), option.summary) }
    lines.append(".SH COMMANDS")
    for group in CommandDescription.Group.allCases { lines += section(group) }
    lines += [".SH WHEN", escaped(when)]
    lines.append(".SH ENVIRONMENT")
    for variable in environment { lines += definition(bold(variable.name), variable.text) }
    lines.append(".SH EXIT STATUS")
    for code in ExitCode.allCases { lines += definition(bold(String(code.rawValue)), code.meaning) }
    return lines
  }

  private static let introduction = [
    "Heartlog stores favorites as a log. Each add, toggle and removal is an event that is kept, and the current favorites "
      + "are computed from the events. So Heartlog can show every earlier state, prove that nothing was lost, and merge what "
      + "two devices wrote independently.",
    "Items belong to libraries: \(ValueKind.libraries.joined(separator: ", ")), or any name of your own. An item has an "
      + "id and fields.",
  ]

  private static let when =
    "The value of an option that takes a WHEN is a time as in RFC 3339 (2026-03-02T07:15:00Z), a date or a time in your time zone "
    + "(2026-03-02, 2026-03-02 07:15, 07:15 for today), today, yesterday, now, a time in the past (2 hours ago, 3 months ago), or an "
    + "event as the log shows it: the first digits of its replica, a colon and its number (3f9a12c0:42). A date means its start for "
    + "--since and --date, and its end for --until and --at. Your time zone is the one in TZ, or else the machine's, or else "
    + "UTC. Times are shown in it on a terminal, and in UTC everywhere else."

  private static let environment: [(name: String, text: String)] = [
    ("HEARTLOG_STORE", "The store, if --store names none."),
    (
      "XDG_DATA_HOME",
      "The directory that contains the default store, heartlog/favorites.heartlog. Default: ~/.local/share."
    ),
    ("NO_COLOR", "Turns colors off, if it is not empty."),
    ("COLUMNS", "The width of a terminal that does not report its own."),
    ("TZ", "Your time zone. Default: the machine's."),
  ]

  private static func section(_ group: CommandDescription.Group) -> [String] {
    let commands = CommandTable.commands(in: group)
    return commands.isEmpty ? [] : [".SS \(escaped(group.rawValue))"] + commands.flatMap(command)
  }

  private static func command(_ command: CommandDescription) -> [String] {
    let usage = command.usage.dropFirst().map(escaped).joined(separator: " ")
    var lines = [".TP", ".B \(usage)"]
    for (index, paragraph) in ([sentence(command.summary)] + command.paragraphs).enumerated() {
      lines += (index == 0 ? [] : [".IP"]) + [escaped(paragraph)]
    }
    if !command.options.isEmpty {
      lines += [".RS"] + command.options.flatMap { definition(synopsis($0), $0.summary) } + [".RE"]
    }
    for example in command.examples {
      lines += [
        ".IP", escaped(example.note), ".RS", ".PP", ".nf", ".RS 4", escaped(example.line), ".RE", ".fi",
        ".RE",
      ]
    }
    return lines
  }

  private static func definition(_ term: String, _ text: String) -> [String] { [".TP", term, escaped(text)] }

  private static func synopsis(_ option: Option) -> String {
    option.spellings.map { bold($0) }.joined(separator: ", ")
      + (option.value.map { " \\fI\(escaped($0.synopsis))\\fR" } ?? "")
  }

  private static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

  private static func sentence(_ phrase: String) -> String {
    phrase.prefix(1).uppercased() + phrase.dropFirst() + "."
  }

  /// Escapes text so that it contains no requests and only ASCII, which every roff reads the same way.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "'": result += "\\(aq"
      case "\"": result += "\\(dq"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      case "`": result += "\\(ga"
      case "…": result += "..."
      case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
      default:
        let digits = String(scalar.value, radix: 16, uppercase: true)
        result += "\\[u\(String(repeating: "0", count: max(0, 4 - digits.utf8.count)))\(digits)]"
      }
    }
    return result.first == "." ? "\\&" + result : result
  }
}
