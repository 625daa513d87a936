import Heartlog

/// Formats open conflicts, as JSON and as text.
enum ConflictPage {
  static func write(_ conflict: Conflict, to json: inout JSONWriter) {
    json.register(conflict.register, of: conflict.item, in: conflict.library)
    json.member("writes", objects: conflict.writes) { write, json in
      json.position(of: write)
      json.member("isShown", write == conflict.writes[0])
      json.value(write.value)
    }
  }

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

  static func lines(_ conflicts: [Conflict], names: [ReplicaID: String], style: Style, times: TimeStyle)
    -> [String]
  {
    var lines: [String] = []
    for conflict in conflicts {
      if !lines.isEmpty { lines.append("") }
      lines.append(style(.name, title(conflict)))
      var table = Table([.init(), .init(), .init(isFlexible: true), .init(isFlexible: true), .init()])
      for (index, write) in conflict.writes.enumerated() {
        table.add([
          .init(index == 0 ? "  shown" : "  other", index == 0 ? .favorite : .faint),
          .init(times.text(write.position.stamp.milliseconds), .faint), .init(text(write.value)),
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

  static func text(_ value: Conflict.Value) -> String {
    switch value {
    case .membership(isFavorite: true, _): "♥ a favorite"
    case .membership: "♡ not a favorite"
    case .field(let value): DisplayText.visible(ItemLine.text(value))
    }
  }
}

extension JSONWriter {
  /// The item and what is meant of it, as members.
  mutating func register(_ register: Conflict.Register, of item: String, in library: String) {
    member("library", library)
    member("id", item)
    self.register(register)
  }

  /// What is meant of an item, as members.
  mutating func register(_ register: Conflict.Register) {
    switch register {
    case .membership: member("register", "membership")
    case .field(let name):
      member("register", "field")
      member("field", name)
    }
  }

  /// The event and the stamp of a write, as members.
  mutating func position(of write: Conflict.Write) {
    event(write.event)
    member("stamp", write.stamp.description)
  }

  /// An event's identity, as members.
  mutating func event(_ event: EventID) {
    member("replica", event.replica.description)
    member("sequence", event.sequence.rawValue)
  }

  /// A membership or the value of a field, as members.
  mutating func value(_ value: Conflict.Value) {
    switch value {
    case .membership(let isFavorite, let date):
      member("isFavorite", isFavorite)
      if isFavorite { member("favoritedDate", RFC3339.text(date)) }
    case .field(let value): member("value", value)
    }
  }
}
