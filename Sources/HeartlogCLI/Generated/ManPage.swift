/// The man page heartlog(1), in the macros of man(7).
struct ManPage: Sendable {
  let table: CommandTable

  var text: String { lines.joined(separator: "\n") + "\n" }

  private var lines: [String] {
    var lines = [".TH HEARTLOG 1 \"\" \"heartlog \(Version.text)\" \"Heartlog\""]
    lines += [".SH NAME", "heartlog \\- \(escaped(HelpPage.tagline))"]
    lines += [".SH SYNOPSIS", ".B heartlog"]
    lines.append("[\\fB\\-\\-store\\fR \\fIDIR\\fR] [\\fB\\-\\-json\\fR] \\fICOMMAND\\fR ...")
    lines.append(".SH DESCRIPTION")
    for paragraph in Self.introduction { lines += [".PP", escaped(paragraph)] }
    lines += [".SH OPTIONS", "These options may stand before or after the command."]
    for option in table.globalOptions { lines += definition(synopsis(option), option.summary) }
    lines.append(".SH COMMANDS")
    for group in CommandDescription.Group.allCases { lines += section(group) }
    lines += [".SH WHEN", escaped(Self.when)]
    lines.append(".SH ENVIRONMENT")
    for variable in Self.environment { lines += definition(bold(variable.name), variable.text) }
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

  private func section(_ group: CommandDescription.Group) -> [String] {
    let commands = table.commands(in: group)
    return commands.isEmpty ? [] : [".SS \(escaped(group.rawValue))"] + commands.flatMap(command)
  }

  private func command(_ command: CommandDescription) -> [String] {
    let usage = command.usage.dropFirst().map(escaped).joined(separator: " ")
    var lines = [".TP", ".B \(usage)"]
    for (index, paragraph) in ([sentence(command.summary)] + command.paragraphs).enumerated() {
      lines += (index == 0 ? [] : [".IP"]) + [escaped(paragraph)]
    }
    if !(command.options.isEmpty && command.endings.isEmpty) {
      lines.append(".RS")
      lines += command.options.flatMap { definition(synopsis($0), $0.summary) }
      lines += command.endings.flatMap {
        definition("Exit code \(bold(String($0.exitCode.rawValue)))", $0.meaning)
      }
      lines.append(".RE")
    }
    for example in command.examples {
      lines += [
        ".IP", escaped(example.note), ".RS", ".PP", ".nf", ".RS 4", escaped(example.line), ".RE", ".fi",
        ".RE",
      ]
    }
    return lines
  }

  private func definition(_ term: String, _ text: String) -> [String] { [".TP", term, escaped(text)] }

  private func synopsis(_ option: Option) -> String {
    option.spellings.map { bold($0) }.joined(separator: ", ")
      + (option.value.map { " \\fI\(escaped($0.synopsis))\\fR" } ?? "")
  }

  private func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

  private func sentence(_ phrase: String) -> String {
    phrase.prefix(1).uppercased() + phrase.dropFirst() + "."
  }

  /// Escapes text so that it contains no requests and only ASCII, which every roff reads the same way.
  private func escaped(_ text: String) -> String {
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
