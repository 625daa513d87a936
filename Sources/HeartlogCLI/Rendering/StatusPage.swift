import Heartlog

/// Formats the status of a store, as JSON and as text.
enum StatusPage {
  static func write(_ status: StoreStatus, vault: VaultID? = nil, to json: inout JSONWriter) {
    json.member("store", status.path)
    json.member("replica", status.replica.description)
    json.member("name", status.name)
    if let vault { json.member("vault", vault.description) }
    json.member("digest", status.digest.description)
    json.member("events", status.events)
    json.member("commits", status.commits)
    json.member("bytes", status.bytes)
    json.member("replicas", objects: status.replicas) { replica, json in
      json.member("id", replica.id.description)
      json.member("name", replica.name)
      json.member("head", replica.head)
      json.member("events", replica.events)
      json.member("wallClockAheadSeconds", replica.wallClockAheadSeconds)
    }
    json.member("libraries", objects: status.libraries) { library, json in
      json.member("name", library.name)
      json.member("favorites", library.counts.favorites)
      json.member("items", library.counts.items)
      json.member("events", library.counts.events)
    }
    if status.conflicts > 0 { json.member("conflicts", status.conflicts) }
    if status.eventsWithoutContent > 0 { json.member("withoutContent", status.eventsWithoutContent) }
  }

  static func lines(_ status: StoreStatus, style: Style, width: Int?) -> [String] {
    var lines = [
      style(.heading, DisplayText.visible(status.path)),
      "\(Quantity.count(status.events, "event")) in \(Quantity.count(status.commits, "commit")), "
        + "\(Quantity.size(bytes: status.bytes)) on disk",
      "digest \(style(.faint, status.digest.description))",
    ]
    if status.eventsWithoutContent > 0 {
      lines.append(
        "\(Quantity.count(status.eventsWithoutContent, "event")) without content: the digest covers the others"
      )
    }
    if status.conflicts > 0 {
      lines.append("\(Quantity.count(status.conflicts, "open conflict")): \"heartlog conflicts\" lists them")
    }
    if !status.libraries.isEmpty {
      var table = Table([
        .init(title: "library"), .init(title: "favorites", alignment: .right),
        .init(title: "items", alignment: .right), .init(title: "events", alignment: .right),
      ])
      for library in status.libraries {
        table.add([
          .init(library.name, .name),
          .init(Quantity.count(library.counts.favorites), library.counts.favorites > 0 ? .favorite : .faint),
          .init(Quantity.count(library.counts.items)), .init(Quantity.count(library.counts.events)),
        ])
      }
      lines += [""] + table.lines(style: style, width: width)
    }
    var table = Table([
      .init(title: "replica"), .init(title: "name", isFlexible: true),
      .init(title: "head", alignment: .right),
      .init(title: "events", alignment: .right), .init(),
    ])
    for replica in status.replicas {
      var remarks: [String] = []
      if replica.id == status.replica { remarks.append("this device") }
      if replica.wallClockAheadSeconds >= 1 {
        remarks.append("its clock is \(Quantity.duration(seconds: replica.wallClockAheadSeconds)) ahead")
      }
      table.add([
        .init(String(replica.id.description.prefix(EventLine.prefixDigits)), .name), .init(replica.name),
        .init(Quantity.count(replica.head)), .init(Quantity.count(replica.events)),
        .init(remarks.joined(separator: ", "), .faint),
      ])
    }
    return lines + [""] + table.lines(style: style, width: width)
  }
}

extension CommandContext {
  /// Prints the status of a store, now or then.
  func show(_ status: StoreStatus, of view: StoreView, isOpenToOthers: Bool = false) throws {
    if isJSON {
      try jsonLine { json in
        StatusPage.write(status, vault: view.store.vault?.id, to: &json)
        json.asOf(view.moment)
        if isOpenToOthers { json.member("openToOthers", true) }
        json.partial(view.findings)
      }
    } else {
      try lineWithMoment(view.moment)
      for line in StatusPage.lines(status, style: style, width: width) { try output.line(line) }
    }
  }
}
