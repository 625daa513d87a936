/// The help pages.
struct HelpPage: Sendable {
  static let tagline = "favorites that remember"
  static let invitation = [
    "heartlog init", "heartlog toggle cities 2950159 name=Berlin country=DE", "heartlog list cities",
    "heartlog log",
  ]

  let table: CommandTable
  let style: Style
  private let width: Int

  /// `width` is nil if the output is not a terminal. Lines of more than 100 columns are hard to read.
  init(table: CommandTable, style: Style, width: Int?) {
    self.table = table
    self.style = style
    self.width = min(100, max(40, width ?? 80))
  }

  /// The page of a command, or the overview.
  func text(_ command: CommandDescription?) -> String {
    (command.map(page) ?? overview()).joined(separator: "\n") + "\n"
  }

  private func overview() -> [String] {
    var lines = ["\(style(.favorite, "♥")) \(style(.heading, "heartlog")): \(Self.tagline)", ""]
    lines.append("\(style(.heading, "Usage:")) heartlog [--store DIR] [--json] COMMAND …")
    let column = 4 + (table.commands.map(\.name.count).max() ?? 0)
    for group in CommandDescription.Group.allCases {
      let commands = table.commands(in: group)
      guard !commands.isEmpty else { continue }
      lines += ["", style(.heading, group.rawValue)]
      for command in commands {
        lines += Paragraph.definition(
          command.name, style(.name, command.name), command.summary, column: column, width: width)
      }
    }
    lines += ["", style(.heading, "Options, before or after the command")]
    lines += definitions(table.globalOptions.map { ($0.synopsis, $0.summary) })
    lines += ["", style(.heading, "Getting started")]
    lines += Self.invitation.map { "  \(style(.name, $0))" }
    lines += ["", "\"heartlog help COMMAND\" describes a command, with examples."]
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
    if !command.endings.isEmpty {
      lines += ["", style(.heading, "Exit codes")]
      lines += definitions(command.endings.map { (String($0.exitCode.rawValue), $0.meaning) })
    }
    let globals = table.globalOptions.map(\.spelling).joined(separator: ", ")
    lines +=
      [""] + Paragraph.lines("Options of all commands: \(globals) (see \"heartlog help\").", width: width)
    return lines
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
