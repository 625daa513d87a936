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

  func write(to json: inout JSONWriter) {
    json.member("replica", commit.replica.description)
    json.member("sequence", id.sequence.rawValue)
    json.member("commit", commit.number.rawValue)
    json.member("time", RFC3339.text(commit.wallTime))
    json.member("stamp", commit.stamp.description)
    switch record {
    case .event(let event):
      json.member("library", event.library)
      json.member("item", event.item)
      json.member("action", Self.name(event.action))
      if let isFavorite = event.action.isFavorite { json.member("isFavorite", isFavorite) }
      if let date = event.favoritedDate { json.member("favoritedDate", RFC3339.text(date)) }
      if !event.fields.isEmpty { json.member("fields", event.fields) }
      let quiet = event.fields.filter(\.isQuiet)
      if !quiet.isEmpty {
        json.name("quiet")
        json.beginArray()
        for field in quiet { json.value(field.name) }
        json.endArray()
      }
      if !event.unknownMembers.isEmpty {
        json.member("members", objects: event.unknownMembers) { member, json in
          json.member("tag", member.tag)
          json.member("bytes", Hexadecimal.text(member.bytes))
        }
      }
    case .withheld(let hash): json.member("withheld", hash.description)
    case .unknown(let kind, let bytes):
      if let erased = record.erasedEvents { json.member("erases", erased.count) }
      json.member("unknownKind", kind)
      json.member("bytes", Hexadecimal.text(bytes))
    }
    if let origin = commit.origin { json.member("origin", origin) }
    guard !fates.isEmpty else { return }
    json.member("conflicts", objects: fates) { fate, json in
      json.register(fate.register)
      json.member("isShown", fate.isShown)
      if !fate.opponents.isEmpty {
        json.name("openWith")
        json.beginArray()
        for event in fate.opponents { json.value("\(event)") }
        json.endArray()
      }
      if let event = fate.lostTo { json.member("lostTo", "\(event)") }
    }
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
    "\(event.replica.description.prefix(prefixDigits)):\(event.sequence)"
  }

  /// The cells of a row: time, event, action, library, item and fields.
  func cells(_ times: TimeStyle) -> [Table.Cell] {
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
