import Heartlog

/// `heartlog blame`: shows where the state of one item came from.
struct BlameCommand: Command {
  static let description = CommandDescription(
    name: "blame", group: .read, summary: "show which event wrote an item's state and each field",
    arguments: [.library, .item],
    paragraphs: [
      "For whether the item is a favorite, and for each field that was ever written: the value, the event that wrote it, when, on which "
        + "device, and by what. Below are the write that it replaced, and the writes of other devices that it won against without having "
        + "seen them."
    ],
    examples: [
      .init("heartlog blame cities 2950159", "Show where the state of a city came from."),
      .init("heartlog blame cities 2950159 --json", "Print it as JSON, with full ids."),
    ],
    endings: [
      .init(.no, "The item is not in the store."),
      .init(.badInput, "Part of the store is damaged; the sound part of the log was used."),
    ])

  let library: String
  let item: String

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.text(.library)
    item = arguments.text(.item)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let (history, findings) = try context.withByteProgress("reading the log") { progress in
      let log = try store.readLog(progress: progress)
      let history = try ItemHistory(of: item, in: library, from: log, of: store)
      return (history, log.findings)
    }
    guard !history.registers.isEmpty else {
      let partial = try context.report(findings)
      guard partial == .success else { return partial }
      throw CommandError(.no, "there is no item \(Quoted(item)) in \(library)")
    }
    let names = Dictionary(uniqueKeysWithValues: store.devices.map { ($0.replica, $0.name) })
    let page = BlamePage(library: library, item: item, history: history, names: names)
    if context.isJSON {
      try page.write(context)
      try context.jsonPartial(findings)
    } else {
      try context.linesWithTimes(page.lines(context))
    }
    return try context.report(findings)
  }
}
