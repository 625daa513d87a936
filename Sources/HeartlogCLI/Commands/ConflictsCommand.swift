import Heartlog

/// `heartlog conflicts`: lists and resolves open conflicts between devices.
struct ConflictsCommand: Command {
  private static let library = Argument(
    "LIBRARY", .optional, .library, "List only conflicts of this library.")
  private static let choice = Option.value(
    "choose", "EVENT", .event, "Resolve every conflict that EVENT is a side of, in its favor.")

  static let description = CommandDescription(
    name: "conflicts", group: .devices, summary: "list or resolve open conflicts between devices",
    arguments: [library], options: [choice, .at],
    paragraphs: [
      "A conflict is open if two devices gave an item's favorite state, or a field, different values without having seen each other's. "
        + "All devices show the later write; the other one is kept until a device that has seen both writes again.",
      "--choose EVENT writes the value of EVENT again, whether it is the one that is shown or another. This resolves the conflict on "
        + "every device that receives the write.",
    ],
    examples: [
      .init("heartlog conflicts", "List all conflicts, each with the command that chooses the other side."),
      .init("heartlog conflicts --at 3f9a12c0:42", "List those that were open after event 42 of 3f9a12c0."),
      .init("heartlog conflicts --choose 3f9a12c0:42", "Choose what event 42 of 3f9a12c0 wrote."),
    ],
    endings: [.init(.no, "EVENT is not a side of any open conflict.")])

  let library: String?
  let choice: Moment?
  let moment: Moment?

  init(_ arguments: Arguments) throws(CommandError) {
    library = arguments.optionalText(Self.library)
    choice = arguments.event(Self.choice)
    moment = try arguments.moment(.at)
    if choice != nil, moment != nil {
      throw .usage("a conflict of the past cannot be resolved", hint: "Use --choose without --at.")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    if let choice { return try choose(choice, context) }
    let view = try context.openForReading(at: moment)
    let conflicts = view.read(\.conflicts).filter { conflict in library.map { $0 == conflict.library } ?? true
    }
    if context.isJSON {
      for conflict in conflicts {
        try context.jsonLine { json in
          ConflictPage.write(conflict, to: &json)
          json.asOf(view.moment)
        }
      }
      try context.jsonPartial(view.findings)
    } else {
      try context.lineWithMoment(view.moment)
      if conflicts.isEmpty { try context.output.line("no open conflicts") }
      let names = Dictionary(uniqueKeysWithValues: view.store.devices.map { ($0.replica, $0.name) })
      try context.linesWithTimes(
        ConflictPage.lines(conflicts, names: names, style: context.style, times: context.times))
    }
    return try context.report(view.findings)
  }

  private func choose(_ choice: Moment, _ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    guard let event = try choice.eventID(in: store) else { return .usage }
    let (resolved, _) = try context.write(to: store) { try store.resolveConflicts(inFavorOf: event) }
    let recoveries = store.findings
    try store.close()
    let code = try context.report(recoveries, includesTorn: true)
    guard !resolved.isEmpty else {
      throw CommandError(
        .no, "\(choice.shown(context.times)) is not a side of any open conflict",
        hint: "\"heartlog conflicts\" lists them.")
    }
    if context.isJSON {
      for conflict in resolved { try context.jsonLine { ConflictPage.write(conflict, to: &$0) } }
    } else {
      for conflict in resolved {
        try context.output.line("resolved: \(ConflictPage.title(conflict))")
      }
    }
    return code
  }
}
