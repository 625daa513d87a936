import Heartlog

/// Formats where the state of an item came from, as JSON and as text.
struct BlamePage {
  let library: String
  let item: String
  let history: ItemHistory
  /// Of devices.
  let names: [ReplicaID: String]

  /// Prints one object for each register.
  func write(_ context: CommandContext) throws {
    for register in history.registers {
      try context.jsonLine { json in
        json.member("library", library)
        json.member("id", item)
        json.register(register.register)
        write(register.shown, to: &json)
        json.member("isOpenConflict", !register.sides.isEmpty)
        json.name("replaced")
        if let overridden = register.overridden {
          json.beginObject()
          write(overridden, to: &json)
          json.endObject()
        } else {
          json.null()
        }
        json.member("wonAgainst", objects: register.rivals) { write($0, to: &$1) }
      }
    }
  }

  private func write(_ write: ItemHistory.Write, to json: inout JSONWriter) {
    json.value(write.value)
    json.member("replica", write.event.replica.description)
    json.member("sequence", write.event.sequence.rawValue)
    json.member("commit", write.commit.rawValue)
    json.member("time", RFC3339.text(write.wallTime))
    json.member("stamp", write.position.stamp.description)
    json.member("name", names[write.event.replica] ?? "")
    if let origin = write.origin { json.member("origin", origin) }
    if write.isQuiet { json.member("isQuiet", true) }
  }

  func lines(_ context: CommandContext) -> [String] {
    var table = Table([
      .init(), .init(isFlexible: true), .init(), .init(), .init(isFlexible: true), .init(isFlexible: true),
    ])
    func add(_ title: Table.Cell, _ write: ItemHistory.Write) {
      table.add([
        title, .init(Self.text(write.value, context.times)), .init(EventLine.shortID(write.event), .faint),
        .init(context.times.text(write.wallTime), .faint), .init(names[write.event.replica] ?? ""),
        .init(write.origin ?? "", .faint),
      ])
    }
    for register in history.registers {
      add(.init(ConflictPage.name(register.register), .name), register.shown)
      let rivals = register.rivals
      // A rival that is also the write before is shown once.
      if let overridden = register.overridden, !rivals.contains(where: { $0.event == overridden.event }) {
        add(.init("  replaced", .faint), overridden)
      }
      let open = Set(register.sides.map(\.event))
      for rival in rivals {
        add(
          open.contains(rival.event) ? .init("  in conflict with", .failure) : .init("  won against", .faint),
          rival)
      }
    }
    return table.lines(style: context.style, width: context.width)
  }

  private static func text(_ value: Conflict.Value, _ times: TimeStyle) -> String {
    switch value {
    case .membership(isFavorite: true, let date): "♥ since \(times.text(date))"
    case .membership: "♡ not a favorite"
    case .field(.null): "(none)"
    case .field(let value): ItemLine.text(value)
    }
  }
}
