import Heartlog

/// `heartlog conflicts`: lists and resolves open conflicts between devices.
enum ConflictsCommand: Command {
  private static let library = Argument(
    "LIBRARY", .optional, .library, "List only conflicts of this library.")
  private static let choice = Option.value(
    "choose", "EVENT", .event, "Resolve every conflict that EVENT is a side of, in its favor.")

  static let description = CommandDescription(
    name: "conflicts", group: .devices, summary: "list or resolve open conflicts between devices",
    arguments: [library], options: [choice, .at],
    page: """
      A conflict is open if two devices gave an item's favorite state, or a field, different values without having seen each other's. All
      devices show the later write; the other one is kept until a device that has seen both writes again.

      --choose EVENT writes the value of EVENT again, whether it is the one that is shown or another. This resolves the conflict on every device
      that receives the write.

      heartlog conflicts  # List all conflicts, each with the command that chooses the other side.
      heartlog conflicts --at 3f9a12c0:42  # List those that were open after event 42 of 3f9a12c0.
      heartlog conflicts --choose 3f9a12c0:42  # Choose what event 42 of 3f9a12c0 wrote.

      Exit code 1: EVENT is not a side of any open conflict.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    try arguments.refuse(Self.choice, with: .at)
    if let choice = arguments.events(Self.choice).first { return try choose(choice, context) }
    let library = arguments.optionalText(Self.library)
    let view = try context.openForReading(at: arguments.moment(.at))
    let conflicts = view.read(\.conflicts).filter { conflict in library.map { $0 == conflict.library } ?? true
    }
    let lines = context.withTimes(
      ConflictPage.lines(conflicts, names: view.store.deviceNames, context))
    return try context.show(
      conflicts.map { $0.json + .asOf(view.moment) },
      context.asOf(view.moment) + (conflicts.isEmpty ? ["no open conflicts"] : lines),
      in: view)
  }

  private static func choose(_ choice: Moment, _ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    guard let event = try choice.eventID(in: store) else { return .usage }
    let (resolved, _) = try context.write(to: store) { try store.resolveConflicts(inFavorOf: event) }
    let code = try context.close(store)
    guard !resolved.isEmpty else {
      throw CommandError(
        .no, "\(choice.shown(context.times)) is not a side of any open conflict",
        hint: "\"heartlog conflicts\" lists them.")
    }
    for conflict in resolved {
      try context.show(conflict.json, ["resolved: \(ConflictPage.title(conflict))"])
    }
    return code
  }
}

/// Formats open conflicts as text.
enum ConflictPage {
  /// `membership`, or the name of a field.
  static func name(_ register: Conflict.Register) -> String {
    switch register {
    case .membership: "membership"
    case .field(let name): DisplayText.visible(name)
    }
  }

  /// The item and the field of a conflict: `papers 2101.09077v1 @note`.
  static func title(_ conflict: Conflict) -> String {
    var title = "\(conflict.library) \(DisplayText.identifier(conflict.item))"
    if case .field(let name) = conflict.register { title += " \(name)" }
    return DisplayText.visible(title)
  }

  static func lines(
    _ conflicts: [Conflict], names: [ReplicaID: String], _ context: CommandContext
  ) -> [String] {
    let style = context.style
    var lines: [String] = []
    for conflict in conflicts {
      if !lines.isEmpty { lines.append("") }
      lines.append(style(.name, title(conflict)))
      var table = Table([.init(), .init(), .init(isFlexible: true), .init(isFlexible: true), .init()])
      for (index, write) in conflict.writes.enumerated() {
        table.add([
          .init(index == 0 ? "  shown" : "  other", index == 0 ? .favorite : .faint),
          .init(context.times.text(write.position.stamp.milliseconds), .faint), .init(text(write.value)),
          .init(names[write.event.replica] ?? ""), .init(EventLine.shortID(write.event), .faint),
        ])
      }
      lines += table.lines(style: style, width: nil)
      lines += conflict.writes.dropFirst().map {
        "  heartlog conflicts --choose \(EventLine.shortID($0.event))"
      }
    }
    return lines
  }

  /// A value of a register; that of a favorite is its date if there is a zone for it.
  static func text(_ value: Conflict.Value, _ times: Zone? = nil) -> String {
    switch value {
    case .membership(isFavorite: true, let date):
      times.map { "♥ since \($0.text(date))" } ?? "♥ a favorite"
    case .membership: "♡ not a favorite"
    case .field(.null): "(none)"
    case .field(let value): DisplayText.visible(ItemLine.text(value))
    }
  }
}

extension Conflict {
  var json: JSONObject {
    ["library": library, "id": item] + register.json + [
      "writes": writes.map { $0.json + ["isShown": $0 == writes[0]] + $0.value.json }
    ]
  }
}

extension Conflict.Register {
  /// What is meant of an item.
  var json: JSONObject {
    switch self {
    case .membership: ["register": "membership"]
    case .field(let name): ["register": "field", "field": name]
    }
  }
}

extension Conflict.Write {
  /// The event and the stamp of a write.
  var json: JSONObject { event.json + ["stamp": stamp] }
}

extension EventID {
  var json: JSONObject { ["replica": replica, "sequence": sequence] }
}

extension Conflict.Value {
  var json: JSONObject {
    switch self {
    case .membership(true, let date): ["isFavorite": true, "favoritedDate": RFC3339.text(date)]
    case .membership: ["isFavorite": false]
    case .field(let value): ["value": value]
    }
  }
}
