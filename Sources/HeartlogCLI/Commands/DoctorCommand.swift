import Heartlog
import HeartlogShipping

/// `heartlog doctor`: names what is wrong with the store, why it matters, and what to do.
struct DoctorCommand: Command {
  static let description = CommandDescription(
    name: "doctor", group: .check, summary: "name what is wrong with the store, and what to do",
    paragraphs: [
      "Checks permissions, the clock, the disk, every byte of the log, forks, the other devices, the lock, leftovers, the device "
        + "key and versions. Changes nothing. A problem is something wrong; a notice is something to know."
    ],
    examples: [
      .init("heartlog doctor", "Check everything."),
      .init("heartlog doctor --json", "Print one object a finding."),
    ],
    endings: [
      .init(.no, "There is a problem other than damage."),
      .init(.badInput, "Something is damaged, or has a newer format."),
    ])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    let directory = try context.storeDirectory()
    var faults = try context.withByteProgress("verifying") { progress in
      try FavoritesStore.diagnose(at: directory, progress: progress)
    }
    if !faults.contains(where: { FaultAdvice.of($0.kind).isDamage || $0.kind == .unreadable }) {
      faults += try VaultKeys.faults(of: try context.openForReading())
    }
    let found = faults.map { (fault: $0, advice: FaultAdvice.of($0.kind)) }
    // The order of the examination, problems first.
    let sorted =
      found.filter { $0.advice.severity == .problem } + found.filter { $0.advice.severity == .notice }
    for (fault, advice) in sorted {
      if context.isJSON {
        try context.jsonLine { Self.write(fault, advice, to: &$0) }
      } else {
        try Self.show(fault, advice, context)
      }
    }
    let problems = found.count { $0.advice.severity == .problem }
    if !context.isJSON { try context.output.line(Self.summary(problems, found.count - problems)) }
    if found.contains(where: \.advice.isDamage) { return .badInput }
    return problems > 0 ? .no : .success
  }

  private static func summary(_ problems: Int, _ notices: Int) -> String {
    let notes = notices > 0 ? [Quantity.count(notices, "notice")] : []
    return ([problems > 0 ? Quantity.count(problems, "problem") : "no problems"] + notes).joined(
      separator: ", ")
  }

  private static func write(_ fault: Fault, _ advice: FaultAdvice, to json: inout JSONWriter) {
    json.member("fault", fault.kind.rawValue)
    json.member("severity", advice.severity.rawValue)
    json.member("what", advice.what)
    if let detail = fault.detail { json.member("detail", detail) }
    json.member("where", fault.place)
    json.member("why", advice.why)
    json.member("next", advice.next)
  }

  private static func show(_ fault: Fault, _ advice: FaultAdvice, _ context: CommandContext) throws {
    let style = context.style
    let isProblem = advice.severity == .problem
    let mark = style(isProblem ? .failure : .name, advice.severity.rawValue)
    let detail = fault.detail.map { ": \($0)" } ?? ""
    try context.output.line("\(mark)\(isProblem ? "" : " ")  \(DisplayText.visible(advice.what + detail))")
    try context.output.line("  where  \(DisplayText.visible(fault.place))")
    let width = min(100, max(40, context.width ?? .max))
    for (label, text) in [("why", advice.why), ("next", advice.next)] {
      for (index, line) in Paragraph.lines(text, width: width - 9).enumerated() {
        let start = index == 0 ? label + String(repeating: " ", count: 5 - label.utf8.count) : "     "
        try context.output.line("  \(style(.faint, start))  \(line)")
      }
    }
    try context.output.line("")
  }
}
