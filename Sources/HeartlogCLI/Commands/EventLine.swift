import Heartlog

/// Formats one event of the log, as JSON and as text.
struct EventLine {
  let commit: Commit
  let index: Int
  /// What became of its writes where others contradicted them, if that was looked up.
  var fates: [ItemHistory.Fate] = []

  var record: EventRecord { commit.records[index] }
  var id: EventID { commit.eventID(at: index) }

  /// All events of a commit.
  static func all(of commit: Commit) -> [EventLine] {
    commit.records.indices.map { EventLine(commit: commit, index: $0) }
  }

  var json: JSONObject {
    var json: JSONObject = [
      "replica": commit.replica, "sequence": id.sequence, "commit": commit.number,
      "time": RFC3339.text(commit.wallTime), "stamp": commit.stamp,
    ]
    switch record {
    case .event(let event):
      let members = event.unknownMembers.map { member -> JSONObject in
        ["tag": member.tag, "bytes": Hexadecimal.text(member.bytes)]
      }
      json += [
        "library": event.library, "item": event.item, "action": Self.name(event.action),
        "isFavorite?": event.action.isFavorite, "favoritedDate?": RFC3339.text(event.favoritedDate),
        "fields?": event.fields.ifAny.map { JSONObject($0) },
        "quiet?": event.fields.filter(\.isQuiet).map(\.name).ifAny, "members?": members.ifAny,
      ]
    case .withheld(let hash): json += ["withheld": hash]
    case .unknown(let kind, let bytes):
      json += [
        "erases?": record.erasedEvents?.count, "unknownKind": kind, "bytes": Hexadecimal.text(bytes),
      ]
    }
    let conflicts = fates.map { fate -> JSONObject in
      fate.register.json
        + ["isShown": fate.isShown, "openWith?": fate.opponents.ifAny, "lostTo?": fate.lostTo]
    }
    return json + ["origin?": commit.origin, "conflicts?": conflicts.ifAny]
  }

  /// A line for each register in which other events contradict this one.
  func marks(_ style: Style) -> [String] {
    fates.map { fate in
      let register = ConflictPage.name(fate.register)
      guard fate.opponents.isEmpty else {
        let others = fate.opponents.map(Self.shortID).joined(separator: ", ")
        let side = fate.isShown ? "shown" : "not shown"
        return style(.failure, "  ! \(register): \(side), in an open conflict with \(others)")
      }
      let winner = fate.lostTo.map(Self.shortID) ?? ""
      return style(.faint, "  ! \(register): lost to \(winner), which had not seen it")
    }
  }

  static func name(_ action: Action) -> String {
    switch action {
    case .added: "added"
    case .removed: "removed"
    case .toggled: "toggled"
    case .changed: "changed"
    }
  }

  /// The number of digits of a replica's id that text shows.
  static let prefixDigits = 8

  /// `3f9a12c0:42`, which is valid as WHEN.
  var shortID: String { Self.shortID(id) }

  static func shortID(_ event: EventID) -> String {
    "\(event.replica.short):\(event.sequence)"
  }

  /// The cells of a row: time, event, action, library, item and fields.
  func cells(_ times: Zone) -> [Table.Cell] {
    let time = Table.Cell(times.text(commit.wallTime), .faint)
    let name = Table.Cell(shortID, .faint)
    switch record {
    case .event(let event):
      let action: Table.Cell =
        switch event.action {
        case .added: .init("♥ added", .favorite)
        case .removed: .init("♡ removed", .faint)
        case .toggled(true): .init("♥ on", .favorite)
        case .toggled(false): .init("♡ off", .faint)
        case .changed: .init("· changed")
        }
      let details = event.fields.map { "\($0.name)=\(ItemLine.text($0.value))" }.joined(separator: " ")
      return [
        time, name, action, .init(event.library, .name),
        .init(DisplayText.identifier(event.item), details: details),
      ]
    case .withheld: return [time, name, .init("· withheld"), .init(""), .init("")]
    case .unknown(let kind, _):
      if let erased = record.erasedEvents {
        return [
          time, name, .init("· erased"), .init(""), .init(Quantity.count(erased.count, "event"), .faint),
        ]
      }
      return [
        time, name, .init("· unknown"), .init(""),
        .init("an event of kind \(kind), written by a newer Heartlog", .faint),
      ]
    }
  }

  static let columns: [Table.Column] = [
    .init(), .init(), .init(), .init(), .init(isFlexible: true, keepsEnd: true),
  ]
}

extension CommandContext {
  /// The lines of events, after the zone of their times.
  func lines(_ events: [EventLine], withHeading: Bool = true) -> [String] {
    let table = Table(EventLine.columns, rows: events.map { $0.cells(times) })
    let lines = zip(events, lines(table)).flatMap { [$1] + $0.marks(style) }
    return withHeading ? withTimes(lines) : lines
  }
}

/// Prints events as they come: JSON at once, text in pages with aligned columns.
struct EventPrinter {
  private let context: CommandContext
  private var page: [EventLine] = []
  private var isHeaded = false

  /// Enough lines for even columns, few enough to print soon.
  private static let pageLinesMax = 500

  init(_ context: CommandContext) { self.context = context }

  mutating func take(_ line: EventLine) throws {
    if context.isJSON { return try context.jsonLine(line.json) }
    page.append(line)
    if page.count >= Self.pageLinesMax { try flush() }
  }

  /// Prints the current page.
  mutating func flush() throws {
    guard !page.isEmpty else { return }
    try context.output.lines(context.lines(page, withHeading: !isHeaded))
    page.removeAll(keepingCapacity: true)
    isHeaded = true
  }
}
