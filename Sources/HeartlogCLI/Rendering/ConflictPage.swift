import Heartlog

/// Formats open conflicts, as JSON and as text.
enum ConflictPage {
  static func write(_ conflict: Conflict, to json: inout JSONWriter) {
    json.member("library", conflict.library)
    json.member("id", conflict.item)
    write(conflict.register, to: &json)
    json.member("writes", objects: conflict.writes) { write, json in
      json.member("replica", write.event.replica.description)
      json.member("sequence", write.event.sequence.rawValue)
      json.member("stamp", write.position.stamp.description)
      json.member("isShown", write == conflict.writes[0])
      Self.write(write.value, to: &json)
    }
  }

  static func write(_ register: Conflict.Register, to json: inout JSONWriter) {
    switch register {
    case .membership: json.member("register", "membership")
    case .field(let name):
      json.member("register", "field")
      json.member("field", name)
    }
  }

  static func write(_ value: Conflict.Value, to json: inout JSONWriter) {
    switch value {
    case .membership(let isFavorite, let date):
      json.member("isFavorite", isFavorite)
      if isFavorite { json.member("favoritedDate", RFC3339.text(date)) }
    case .field(let value): json.member("value", value)
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
    var title = "\(conflict.library) \(conflict.item)"
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

  private static func text(_ value: Conflict.Value) -> String {
    switch value {
    case .membership(isFavorite: true, _): "♥ a favorite"
    case .membership: "♡ not a favorite"
    case .field(let value): DisplayText.visible(ItemLine.text(value))
    }
  }
}
