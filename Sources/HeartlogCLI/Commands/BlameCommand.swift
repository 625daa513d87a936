import Heartlog

/// `heartlog blame`: shows where the state of one item came from.
enum BlameCommand: Command {
  static let description = CommandDescription(
    name: "blame", group: .read, summary: "show which event wrote an item's state and each field",
    arguments: [.library, .item],
    page: """
      For whether the item is a favorite, and for each field that was ever written: the value, the event that wrote it, when, on which device,
      and by what. Below are the write that it replaced, and the writes of other devices that it won against without having seen them.

      heartlog blame cities 2950159  # Show where the state of a city came from.
      heartlog blame cities 2950159 --json  # Print it as JSON, with full ids.

      Exit code 1: The item is not in the store.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let (library, item) = (arguments.text(.library), arguments.text(.item))
    let store = try context.openForReading()
    let (history, findings) = try context.withByteProgress("reading the log") { progress in
      let log = try store.readLog(progress: progress)
      let history = try ItemHistory(of: item, in: library, from: log, of: store)
      return (history, log.findings)
    }
    guard !history.registers.isEmpty else {
      return try context.absent("there is no item \(Quoted(item)) in \(library)", findings)
    }
    let page = BlamePage(library: library, item: item, history: history, names: store.deviceNames)
    return try context.show(
      history.registers.map(page.json), context.withTimes(page.lines(context)), findings: findings)
  }
}

/// Formats where the state of an item came from, as JSON and as text.
struct BlamePage {
  let library: String
  let item: String
  let history: ItemHistory
  /// Of devices.
  let names: [ReplicaID: String]

  func json(_ register: ItemHistory.Register) -> JSONObject {
    ["library": library, "id": item] + register.register.json + json(register.shown) + [
      "isOpenConflict": !register.sides.isEmpty, "replaced": register.overridden.map(json),
      "wonAgainst": register.rivals.map(json),
    ]
  }

  private func json(_ write: ItemHistory.Write) -> JSONObject {
    write.value.json + [
      "replica": write.event.replica, "sequence": write.event.sequence, "commit": write.commit,
      "time": RFC3339.text(write.wallTime), "stamp": write.position.stamp,
      "name": names[write.event.replica] ?? "", "origin?": write.origin,
      "isQuiet?": write.isQuiet ? true : nil,
    ]
  }

  func lines(_ context: CommandContext) -> [String] {
    var table = Table([
      .init(), .init(isFlexible: true), .init(), .init(), .init(isFlexible: true), .init(isFlexible: true),
    ])
    func add(_ title: Table.Cell, _ write: ItemHistory.Write) {
      table.add([
        title, .init(ConflictPage.text(write.value, context.times)),
        .init(EventLine.shortID(write.event), .faint),
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
    return context.lines(table)
  }
}
