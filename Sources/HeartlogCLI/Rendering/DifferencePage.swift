import Heartlog
import HeartlogLibraries

/// Formats what differs between two moments, as JSON and as text.
struct DifferencePage {
  let differences: [ItemDifference]
  let from: PastMoment?
  /// nil for now.
  let to: PastMoment?

  /// Prints one object for each item.
  func write(_ context: CommandContext) throws {
    for difference in differences {
      let fields = difference.fields
      try context.jsonLine { json in
        json.member("library", difference.library)
        json.member("id", difference.id)
        Self.write(difference.before, "before", fields.map { ($0.name, $0.before) }, to: &json)
        Self.write(difference.after, "after", fields.map { ($0.name, $0.after) }, to: &json)
        if let from { json.member("from", from.inLog.text) }
        if let to { json.member("to", to.inLog.text) }
      }
    }
  }

  private static func write(
    _ item: ItemState, _ name: String, _ fields: [(name: String, value: FieldValue?)],
    to json: inout JSONWriter
  ) {
    json.name(name)
    json.beginObject()
    json.member("isFavorite", item.isFavorite)
    json.name("favoritedDate")
    if let date = item.favoritedDate { json.value(RFC3339.text(date)) } else { json.null() }
    json.name("fields")
    json.beginObject()
    for field in fields { json.member(field.name, field.value ?? .null) }
    json.endObject()
    json.endObject()
  }

  func lines(_ context: CommandContext) -> [String] {
    func shown(_ moment: PastMoment?) -> String { moment?.given.shown(context.times) ?? "now" }
    let heading = "from \(shown(from)) to \(shown(to))"
    guard !differences.isEmpty else { return [heading, "no difference"] }
    var lines = [heading]
    if let zone = context.times.heading { lines.append(context.style(.faint, zone)) }
    var rest = differences[...]
    while let first = rest.first {
      let library = rest.prefix { $0.library == first.library }
      lines += ["", context.style(.name, first.library)] + self.lines(of: library, context)
      rest = rest.dropFirst(library.count)
    }
    return lines + ["", summary]
  }

  private func lines(of library: ArraySlice<ItemDifference>, _ context: CommandContext) -> [String] {
    var table = Table([
      .init(), .init(isFlexible: true, keepsEnd: true), .init(), .init(isFlexible: true),
    ])
    for item in library {
      let shown = item.after.isVisible ? item.after : item.before
      table.add([
        .init(item.after.isFavorite ? "♥" : "♡", item.after.isFavorite ? .favorite : .faint),
        .init(DisplayText.identifier(item.id), .name), .init(Self.words(item, context.times), .faint),
        .init(LibraryRegistry.standard[item.library].titleLine(of: shown)),
      ])
    }
    var lines: [String] = []
    for (item, line) in zip(library, table.lines(style: context.style, width: context.width)) {
      lines.append(line)
      var fields = Table([.init(), .init(isFlexible: true), .init(), .init(isFlexible: true)])
      for field in item.fields {
        fields.add([.init("   \(field.name)"), Self.cell(field.before), .init("→"), Self.cell(field.after)])
      }
      lines += fields.lines(style: context.style, width: context.width)
    }
    return lines
  }

  private static func cell(_ value: FieldValue?) -> Table.Cell {
    value.map { .init(ItemLine.text($0)) } ?? .init("(none)", .faint)
  }

  /// What happened to the membership of an item.
  private static func words(_ item: ItemDifference, _ times: TimeStyle) -> String {
    switch (item.before.favoritedDate, item.after.favoritedDate) {
    case (nil, let date?): "became a favorite as of \(times.text(date))"
    case (_?, nil): "no longer a favorite"
    case (let old?, let new?) where old != new:
      "favorite since \(times.text(new)), was since \(times.text(old))"
    default: "changed"
    }
  }

  private var summary: String {
    let became = differences.count { !$0.before.isFavorite && $0.after.isFavorite }
    let ended = differences.count { $0.before.isFavorite && !$0.after.isFavorite }
    let changed = differences.count - became - ended
    return [(became, "added"), (ended, "removed"), (changed, "changed")]
      .filter { $0.0 > 0 }.map { "\(Quantity.count($0.0)) \($0.1)" }.joined(separator: ", ")
  }
}
