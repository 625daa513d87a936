import Heartlog

/// `heartlog erase`: takes the content of events out of every store.
enum EraseCommand: Command {
  private static let library = Argument("LIBRARY", .optional, .library, "The library of the item to erase.")
  private static let item = Argument("ID", .optional, .item, "The item's id, as its library writes it.")
  private static let events = Option.value(
    "events", "EVENT", .event, isRepeatable: true,
    "Erase this event alone, of any device, as \"heartlog log\" shows it.")
  private static let dryRun = Option.flag("dry-run", "Erase nothing; count what would be erased.")

  static let description = CommandDescription(
    name: "erase", group: .write, summary: "delete an item's content from all stores, for good",
    arguments: [library, item], options: [events, dryRun],
    page: """
      Everything that any device ever wrote of the item is erased: its id, favorites, dates, fields, notes. On this device now, on every other
      at its next sync. The events keep their numbers and hashes, so proofs of everything else stay valid.

      This cannot be undone. What a device writes of the item before it knows of the erasure stays. Copies outside the stores, such as exports
      and earlier backups, are not reached.

      heartlog erase papers 2006.08594v1 --dry-run  # Count what would be erased.
      heartlog erase papers 2006.08594v1  # Erase everything about an item.
      heartlog erase --events 3f9a12c0:42 --events 3f9a12c0:45  # Erase what two events said.

      Exit code 1: There is nothing to erase: nothing was written of the item, or it is erased already.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let isDryRun = arguments.has(Self.dryRun)
    let events = arguments.events(Self.events)
    let item = arguments.optionalText(Self.item)
    guard (item != nil) == events.isEmpty, arguments.optionalText(Self.library) == nil || item != nil else {
      throw misused("erase needs LIBRARY and ID, or --events")
    }
    let store = try isDryRun ? context.openForReading() : context.openForWriting(endsSoon: true)
    let report =
      if let item, let library = arguments.optionalText(Self.library) {
        try store.erase(item, in: library, isDryRun: isDryRun)
      } else {
        try store.erase(events.compactMap { try $0.eventID(in: store) }, isDryRun: isDryRun)
      }
    let dryRun =
      "\(Quantity.count(report.eventCount, "event")) would be erased; dry run, nothing was written"
    let code = try context.close(store)
    try context.show(
      ["dryRun": isDryRun] + report.json,
      isDryRun ? [dryRun] : report.lines + ["other devices erase it at their next sync"])
    return code
  }
}

extension ErasureReport {
  /// Nothing if nothing was erased.
  var lines: [String] {
    guard eventCount > 0 else { return [] }
    return ["\(Quantity.count(eventCount, "event")) erased from this store"]
      + remainingItems.map { item in
        "\(item.library)  \(DisplayText.identifier(item.id)): what was written of it besides stays"
      }
  }

  var json: JSONObject {
    [
      "erased": eventCount,
      "remaining": remainingItems.map { ["library": $0.library, "id": $0.id] as JSONObject },
    ]
  }
}
