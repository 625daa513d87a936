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
    lines += [".SH OPTIONS", "These stand before or after any command."]
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
    "Heartlog keeps favorites as a log: each add, toggle and removal is an event that stays, and what is a favorite now "
      + "follows from the events. So it can show what was, prove that nothing was lost, and merge what two devices "
      + "wrote apart.",
    "Items live in libraries: \(ValueKind.libraries.joined(separator: ", ")), and any name of your own. An item has an "
      + "id and fields.",
  ]

  private static let when =
    "Where an option takes a WHEN, it is a time as RFC 3339 writes it (2026-03-02T07:15:00Z), a date or a time in your time zone "
    + "(2026-03-02, 2026-03-02 07:15, 07:15 for today), today, yesterday, now, what was some time ago (2 hours ago, 3 months ago), or an "
    + "event as the log shows it: the first digits of its replica, a colon and its number (3f9a12c0:42). A date means its start where "
    + "something begins, else its end. Your time zone is that of TZ, or of the machine, and UTC where there is none; times are shown in it "
    + "on a terminal, and in UTC everywhere else."

  private static let environment: [(name: String, text: String)] = [
    ("HEARTLOG_STORE", "The store to work with where --store names none."),
    (
      "XDG_DATA_HOME",
      "Where the store lies else, at heartlog/favorites.heartlog; without it in ~/.local/share."
    ),
    ("NO_COLOR", "Set to anything, it turns colour off."),
    ("COLUMNS", "The width of the terminal where the terminal does not tell."),
    ("TZ", "Your time zone, where it is not that of the machine."),
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
      + (option.value.map { " \\fI\(escaped($0.name))\\fR" } ?? "")
  }

  private func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

  private func sentence(_ phrase: String) -> String {
    phrase.prefix(1).uppercased() + phrase.dropFirst() + "."
  }

  /// Text that is not taken for a request, and in ASCII, which every roff reads alike.
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
