import Heartlog
import HeartlogLibraries

/// `heartlog diff`: shows what changed between two moments.
enum DiffCommand: Command {
  private static let first = Argument(
    "FROM", .required, .moment, "The earlier moment: a time, a date (its end), an event or a commit.")
  private static let second = Argument("TO", .optional, .moment, "The later moment. Default: now.")
  private static let library = Option.value("library", "LIBRARY", .library, "Compare only this library.")

  static let description = CommandDescription(
    name: "diff", group: .read, summary: "show what changed between two moments",
    arguments: [first, second], options: [library],
    page: """
      Compares what the store contained at two moments, by library and item: what became a favorite, what no longer is one, and which fields
      have other values. What changed and changed back is no difference. The moments may be in any order.

      heartlog diff yesterday  # Show what changed since the end of yesterday.
      heartlog diff 2026-03-02 2026-03-09 --library papers  # Show what a week changed in papers.
      heartlog diff 3f9a12c0:c41 3f9a12c0:c42  # Show what commit 42 of 3f9a12c0 changed.

      Exit code 1: The log does not have the event or the commit.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let library = arguments.text(Self.library)
    let before = try context.view(of: store, at: arguments.moment(Self.first))
    let after = try context.view(of: store, at: arguments.moment(Self.second))
    let differences = after.read { later in before.read { later.difference(from: $0, in: library) } }
    let findings = after.findings.union(before.findings)
    let page = DifferencePage(differences: differences, from: before.moment, to: after.moment)
    return try context.show(
      differences.lazy.map(page.json), page.lines(context), of: library, in: StoreView(now: store),
      findings: findings)
  }
}

/// Formats what differs between two moments, as JSON and as text.
struct DifferencePage {
  let differences: [ItemDifference]
  let from: PastMoment?
  /// nil for now.
  let to: PastMoment?

  func json(_ difference: ItemDifference) -> JSONObject {
    func side(_ item: ItemState, _ value: KeyPath<ItemDifference.Value, FieldValue?>) -> JSONObject {
      let fields = difference.fields.map { Field(name: $0.name, value: $0[keyPath: value] ?? .null) }
      return [
        "isFavorite": item.isFavorite, "favoritedDate": RFC3339.text(item.favoritedDate),
        "fields": JSONObject(fields),
      ]
    }
    return [
      "library": difference.library, "id": difference.id, "before": side(difference.before, \.before),
      "after": side(difference.after, \.after), "from?": from?.inLog.text, "to?": to?.inLog.text,
    ]
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
    let table = Table(
      [.init(), .init(isFlexible: true, keepsEnd: true), .init(), .init(isFlexible: true)],
      rows: library.map { item in
        let shown = item.after.isVisible ? item.after : item.before
        return [
          .heart(item.after.isFavorite), .init(DisplayText.identifier(item.id), .name),
          .init(Self.words(item, context.times), .faint),
          .init(LibraryRegistry.standard[item.library].titleLine(of: shown)),
        ]
      })
    var lines: [String] = []
    for (item, line) in zip(library, context.lines(table)) {
      lines.append(line)
      let fields = Table(
        [.init(), .init(isFlexible: true), .init(), .init(isFlexible: true)],
        rows: item.fields.map {
          [.init("   \($0.name)"), Self.cell($0.before), .init("→"), Self.cell($0.after)]
        })
      lines += context.lines(fields)
    }
    return lines
  }

  private static func cell(_ value: FieldValue?) -> Table.Cell {
    value.map { .init(ItemLine.text($0)) } ?? .init("(none)", .faint)
  }

  /// What happened to the membership of an item.
  private static func words(_ item: ItemDifference, _ times: Zone) -> String {
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
