import Heartlog

/// Formats what an undo wrote and what it left alone, as JSON and as text.
struct UndoPage {
  let plan: UndoPlan
  let isDryRun: Bool

  /// One function for each line.
  var jsonLines: [(inout JSONWriter) -> Void] {
    plan.writes.map { write in
      { json in
        json.member("kind", "restored")
        json.register(write.register, of: write.item, in: write.library)
        json.value(write.value)
        json.object("replaced") {
          $0.position(of: write.replaced)
          $0.value(write.replaced.value)
        }
      }
    }
      + plan.kept.map { kept in
        { json in
          json.member("kind", "kept")
          json.register(kept.register, of: kept.item, in: kept.library)
          json.object("undone") { $0.event(kept.undone) }
          json.object("later") {
            $0.position(of: kept.later)
            $0.value(kept.later.value)
          }
        }
      }
      + plan.unreadable.map { event in
        { json in
          json.member("kind", "unreadable")
          json.event(event)
        }
      } + [summary]
  }

  private func summary(_ json: inout JSONWriter) {
    json.member("kind", "undo")
    json.member("dryRun", isDryRun)
    json.member("restored", plan.writes.count)
    json.member("kept", plan.kept.count)
    json.member("unreadable", plan.unreadable.count)
    json.member("events", objects: plan.events) { $1.event($0) }
  }

  /// A line for each item and event.
  ///
  /// - Parameter names: the names of the devices.
  func lines(names: [ReplicaID: String], style: Style, width: Int?, times: TimeStyle) -> [String] {
    var table = Table([.init(), .init(), .init(isFlexible: true, keepsEnd: true), .init(isFlexible: true)])
    func add(_ word: Table.Cell, _ library: String, _ item: String, _ values: [String], _ event: String) {
      table.add([
        word, .init(library, .name), .init(item, details: values.joined(separator: ", ")),
        .init(event, .faint),
      ])
    }
    var writes = plan.writes[...]
    while let first = writes.first {
      let same = writes.prefix {
        $0.library == first.library && $0.item.utf8.elementsEqual(first.item.utf8)
          && $0.replaced.event == first.replaced.event
      }
      add(
        .init("restored", .good), first.library, DisplayText.identifier(first.item),
        same.map { Self.text($0.register, $0.value, times) },
        "undoes \(EventLine.shortID(first.replaced.event))")
      writes = writes.dropFirst(same.count)
    }
    var kept = plan.kept[...]
    while let first = kept.first {
      let same = kept.prefix {
        $0.library == first.library && $0.item.utf8.elementsEqual(first.item.utf8)
          && $0.undone == first.undone && $0.later.event == first.later.event
      }
      let name = names[first.later.event.replica] ?? ""
      add(
        .init("kept", .faint), first.library, DisplayText.identifier(first.item),
        same.map { Self.text($0.register, $0.later.value, times) },
        "later: \(EventLine.shortID(first.later.event)) by \(name)")
      kept = kept.dropFirst(same.count)
    }
    return table.lines(style: style, width: width)
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

  private static func text(_ register: Conflict.Register, _ value: Conflict.Value, _ times: TimeStyle)
    -> String
  {
    switch (register, value) {
    case (_, .membership(isFavorite: true, let date)): return "♥ a favorite since \(times.text(date))"
    case (_, .membership): return "♡ not a favorite"
    case (.field(let name), .field(let value)):
      if let collection = ItemCollection.name(ofField: name) {
        return value.isNull ? "not in the collection \(collection)" : "in the collection \(collection)"
      }
      return value.isNull ? "no \(name)" : "\(name)=\(ItemLine.text(value))"
    case (.membership, .field(let value)): return ItemLine.text(value)
    }
  }
}

extension JSONWriter {
  /// A member whose value is an object.
  fileprivate mutating func object(_ name: String, _ build: (inout JSONWriter) -> Void) {
    self.name(name)
    beginObject()
    build(&self)
    endObject()
  }
}
