/// The help pages.
struct HelpPage: Sendable {
  static let tagline = "favorites that remember"
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
    var lines = ["\(style(.favorite, "♥")) \(style(.heading, "heartlog")): \(Self.tagline)"]
    lines.append("\(style(.heading, "Usage:")) heartlog [--store DIR] [--json] COMMAND …")
    let groups = CommandDescription.Group.allCases
    let nameColumn = 2 + (groups.map(\.rawValue.count).max() ?? 0)
    let column = nameColumn + 2 + (table.commands.map(\.name.count).max() ?? 0)
    for group in groups {
      for (index, command) in table.commands(in: group).enumerated() {
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
    let options = table.globalOptions.map(\.synopsis).joined(separator: "   ")
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
    if !command.endings.isEmpty {
      lines += ["", style(.heading, "Exit codes")]
      lines += definitions(command.endings.map { (String($0.exitCode.rawValue), $0.meaning) })
    }
    let globals = table.globalOptions.map(\.spelling).joined(separator: ", ")
    lines +=
      [""] + Paragraph.lines("Options of all commands: \(globals) (see \"heartlog man\").", width: width)
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
