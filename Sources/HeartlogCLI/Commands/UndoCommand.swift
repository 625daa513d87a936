import Heartlog
import HeartlogInspector

/// `heartlog undo`: takes back events.
enum UndoCommand: Command {
  private static let events = Argument(
    "EVENT", .variadic, .event, "An event to take back, of any device, as \"heartlog log\" shows it.")
  private static let last = Option.value(
    "last", "N", .count, ifAbsent: "1",
    "Take back the last N commits of this device; without N, the last one.")
  private static let since = Option.value(
    "since", "WHEN", .moment, "Take back everything from then on; a date means its start.")
  private static let after = Option.value(
    "after", "WHEN", .moment,
    "Return to that moment: take back everything after it. A date means its end, an event just after it.")
  private static let library = Option.value(
    "library", "LIBRARY", .library, "With --since or --after: only events of this library.")
  private static let replica = Option.value(
    "replica", "R", .replica,
    "With --since or --after: only events of this device, its name or the first digits of its id.")
  private static let dryRun = Option.flag(
    "dry-run", "Write nothing; show what would be written and what would be kept.")

  static let description = CommandDescription(
    name: "undo", group: .write, summary: "take back events: restore what was there before them",
    arguments: [events], options: [last, since, after, library, replica, dryRun],
    page: #"""
      Writes new events that restore what the log would show without the undone ones: favorites, their dates, fields, notes and collections.
      What a later event wrote is kept and listed.

      An undo can be undone: "heartlog undo --last" after it.

      heartlog undo 3f9a12c0:42  # Take back one event.
      heartlog undo --last  # Take back the last commit of this device.
      heartlog undo --last 3 --dry-run  # Show what it would mean to take back three.
      heartlog undo --since "2 hours ago" --library papers  # Take back what was done to the papers.
      heartlog undo --since yesterday --replica "Anna's tablet"  # Take back what one device did.
      heartlog undo --after "2026-03-14 18:00" --dry-run  # Show what differs from that moment.

      Exit code 1: There is nothing to undo: no such event, or later events wrote the same values or others; nothing was written.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let scopes = [
      !arguments.events(Self.events).isEmpty, arguments.has(Self.last), arguments.has(Self.since),
      arguments.has(Self.after),
    ]
    guard scopes.count(where: \.self) == 1 else {
      throw misused("undo needs one of EVENT, --last, --since and --after")
    }
    try arguments.allow(
      Self.library, Self.replica, onlyWith: "--since and --after",
      if: arguments.has(Self.since) || arguments.has(Self.after))
    let isDryRun = arguments.has(Self.dryRun)
    let store =
      try isDryRun
      ? context.openForReading() : context.openForWriting(endsSoon: true, origin: InspectedStore.undoOrigin)
    let target = try target(of: arguments, in: store)
    let plan = try context.withByteProgress("reading the log") { progress in
      try store.undo(target, isDryRun: isDryRun, progress: progress, didWrite: context.note)
    }
    let names = store.deviceNames
    let code = try context.close(store)
    let page = UndoPage(plan: plan, isDryRun: isDryRun)
    let table = page.table(names: names, context.times)
    _ = try context.show(page.json, context.withTimes(context.lines(table)))
    let erasures = plan.erasures.count
    let unknown = plan.unreadable.count - erasures
    try context.output.flush()
    if unknown > 0 {
      context.warn(
        "\(Quantity.count(unknown, "event")) could not be undone: withheld, or written by a newer version.")
    }
    if erasures > 0, !plan.writes.isEmpty {
      context.warn(
        "\(Quantity.count(erasures, "event")) could not be undone: an erasure cannot be undone.")
    }
    guard !plan.writes.isEmpty else {
      let nothing = "there is nothing to undo"
      let reason =
        !plan.kept.isEmpty
        ? "later events wrote all that these events wrote"
        : erasures > 0
          ? "\(nothing): \(Quantity.count(erasures, "event")) erased content, and an erasure cannot be undone"
          : nothing
      throw CommandError(.no, reason, hint: "Nothing was written.")
    }
    if !context.isJSON { try context.output.line(page.summaryLine) }
    return code
  }

  private static func target(of arguments: Arguments, in store: FavoritesStore) throws -> UndoScope {
    if let count = arguments.count(Self.last) { return .lastCommits(count) }
    let library = arguments.text(Self.library)
    let replica = try arguments.text(Self.replica)
      .map { try Moment.replica(named: $0, among: store.replicaNames) }
    if let since = arguments.moment(Self.since) {
      let first = try since.first.map(LogMoment.milliseconds) ?? since.resolved(in: store)
      return .since(first, library: library, replica: replica)
    }
    if let after = arguments.moment(Self.after) {
      return .after(try after.resolved(in: store), library: library, replica: replica)
    }
    return .events(try arguments.events(Self.events).compactMap { try $0.eventID(in: store) })
  }
}

/// Formats what an undo wrote and what it left alone, as JSON and as text.
struct UndoPage {
  let plan: UndoPlan
  let isDryRun: Bool

  var json: [JSONObject] {
    plan.writes.map { write in
      ["kind": "restored", "library": write.library, "id": write.item] + write.register.json
        + write.value.json + ["replaced": write.replaced.json + write.replaced.value.json]
    }
      + plan.kept.map { kept in
        ["kind": "kept", "library": kept.library, "id": kept.item] + kept.register.json
          + ["undone": kept.undone.json, "later": kept.later.json + kept.later.value.json]
      } + plan.unreadable.map { ["kind": "unreadable"] + $0.json }
      + [
        [
          "kind": "undo", "dryRun": isDryRun, "restored": plan.writes.count, "kept": plan.kept.count,
          "unreadable": plan.unreadable.count, "events": plan.events.map(\.json),
        ]
      ]
  }

  /// A row for each item and event.
  ///
  /// - Parameter names: the names of the devices.
  func table(names: [ReplicaID: String], _ times: Zone) -> Table {
    var rows: [(library: String, item: String, values: [String], why: String)] = []
    func add(_ library: String, _ item: String, _ value: String, _ why: String) {
      if let last = rows.last, last.library == library, last.item.hasSameBytes(as: item), last.why == why {
        rows[rows.count - 1].values.append(value)
      } else {
        rows.append((library, item, [value], why))
      }
    }
    for write in plan.writes {
      add(
        write.library, write.item, Self.text(write.register, write.value, times),
        "undoes \(EventLine.shortID(write.replaced.event))")
    }
    let restored = rows.count
    for kept in plan.kept {
      let later = kept.later.event
      add(
        kept.library, kept.item, Self.text(kept.register, kept.later.value, times),
        "later: \(EventLine.shortID(later)) by \(names[later.replica] ?? "")")
    }
    return Table(
      [.init(), .init(), .init(isFlexible: true, keepsEnd: true), .init(isFlexible: true)],
      rows: rows.enumerated().map { index, row in
        [
          index < restored ? .init("restored", .good) : .init("kept", .faint), .init(row.library, .name),
          .init(DisplayText.identifier(row.item), details: row.values.joined(separator: ", ")),
          .init(row.why, .faint),
        ]
      })
  }

  /// `2 values restored, 1 kept: events 3f9a12c0:356 to 3f9a12c0:357`.
  var summaryLine: String {
    var text = Quantity.count(plan.writes.count, "value") + " restored"
    if !plan.kept.isEmpty { text += ", \(Quantity.count(plan.kept.count)) kept" }
    if isDryRun { return text + "; dry run, nothing was written" }
    guard let first = plan.events.first, let last = plan.events.last else { return text }
    return first == last
      ? "\(text) by event \(EventLine.shortID(first))"
      : "\(text) by events \(EventLine.shortID(first)) to \(EventLine.shortID(last))"
  }

  private static func text(_ register: Conflict.Register, _ value: Conflict.Value, _ times: Zone)
    -> String
  {
    guard case (.field(let name), .field(let field)) = (register, value) else {
      return ConflictPage.text(value, times)
    }
    if let collection = CollectionField.collection(of: name) {
      return field.isNull ? "not in the collection \(collection)" : "in the collection \(collection)"
    }
    return field.isNull ? "no \(name)" : "\(name)=\(ItemLine.text(field))"
  }
}
