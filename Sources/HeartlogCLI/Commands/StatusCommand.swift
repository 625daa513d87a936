import Heartlog

/// `heartlog init`: creates a new, empty store.
enum InitCommand: Command {
  static let description = CommandDescription(
    name: "init", group: .store, summary: "create a new, empty store",
    options: [.deviceName],
    page: #"""
      Creates the folder that --store or $HEARTLOG_STORE names, or else one in your data directory, and gives this device its own identity in
      it. No other command creates a store.

      heartlog init  # Create a store in your data directory.
      heartlog --store ~/favorites.heartlog init --name "Kitchen tablet"  # Create one elsewhere, and name the device.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let directory = try context.storeDirectory()
    let options = StoreOptions(named: arguments.text(.deviceName))
    do { try FavoritesStore.create(at: directory, options: options) } catch {
      guard ![.invalid, .diskFull, .locked].contains(error.code) else { throw error }
      var shown = CommandError(error)
      shown.exitCode = .cannotCreate
      throw shown
    }
    context.unreported.add("the new store \(directory)")
    let store = try context.openForReading()
    let status = try store.status()
    let device = options.name.isEmpty ? "this device" : options.name
    try context.show(
      status.json(vault: store.vault?.id),
      [DisplayText.visible("created \(directory) for \(device) (\(store.replica.short))")])
    return .success
  }
}

/// `heartlog status`: shows what the store contains.
enum StatusCommand: Command {
  static let description = CommandDescription(
    name: "status", group: .store, summary: "show what the store contains: libraries, devices, size",
    options: [.at],
    page: """
      The digest covers everything that is visible: two stores that show the same have the same digest, on any machine.

      heartlog status  # Show the status.
      heartlog status --at 2026-03-02  # Show what it was at the end of that day.
      heartlog status --json  # Print it as one JSON object.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let view = try context.openForReading(at: arguments.moment(.at))
    let status = try view.status()
    let isOpen = try FavoritesStore.isOpenToOthers(at: status.path)
    try context.show(status, of: view, isOpenToOthers: isOpen)
    try context.warnIfOpenToOthers()
    return try context.report(view.findings)
  }
}

/// `heartlog replay`: rebuilds the state from the log alone.
enum ReplayCommand: Command {
  static let description = CommandDescription(
    name: "replay", group: .check, summary: "rebuild the state from the log alone",
    page: """
      Replays the log from its first event and compares the resulting state with what the store shows.

      heartlog replay  # Check that the log produces what the store shows.

      Exit code 1: The state from the log differs from what the store shows.
      """)

  /// How often the log is replayed while its content changes.
  private static let attemptsMax = 20

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    var generation = try store.contentGeneration()
    var view = try context.replayed(store)
    var isChanging = false
    func differs() -> Bool { view.read(\.digest) != store.digest }
    for _ in 0..<Self.attemptsMax where differs() {
      // Another process may be erasing content, or taking content that was missing.
      let now = try store.contentGeneration()
      isChanging = now == nil || now != generation
      guard isChanging else { break }
      Terminal.pause(milliseconds: 100)
      generation = now
      try store.refresh()
      view = try context.replayed(store)
    }
    let status = try view.status()
    let differs = differs()
    if differs, isChanging {
      throw CommandError.contentIsChanging
    }
    try context.show(status, of: view)
    let damage = try context.report(view.findings)
    guard damage == .success else { return damage }
    guard !differs else {
      throw CommandError(
        .no, "the state from the log differs from what the store shows",
        hint: "The log is authoritative. Report this as a bug.")
    }
    if !context.isJSON {
      try context.output.line(
        "\n\(context.style(.good, "the same")): the log alone produces the state that the store shows")
    }
    return .success
  }
}

extension StoreStatus {
  func json(vault: VaultID? = nil) -> JSONObject {
    let replicas = devices.map { device -> JSONObject in
      [
        "id": device.replica, "name": device.name, "head": device.head, "events": device.events,
        "wallClockAheadSeconds": device.wallClockAheadSeconds,
      ]
    }
    let libraries = self.libraries.map { library -> JSONObject in
      [
        "name": library.name, "favorites": library.counts.favorites, "items": library.counts.items,
        "events": library.counts.events,
      ]
    }
    return [
      "store": path, "replica": replica, "name": name, "vault?": vault, "digest": digest, "events": events,
      "commits": commits, "bytes": bytes, "replicas": replicas, "libraries": libraries,
      "conflicts?": conflicts.ifAny, "withoutContent?": eventsWithoutContent.ifAny,
    ]
  }

  func lines(_ context: CommandContext) -> [String] {
    let style = context.style
    var lines = [
      style(.heading, DisplayText.visible(path)),
      "\(Quantity.count(events, "event")) in \(Quantity.count(commits, "commit")), "
        + "\(Quantity.size(bytes: bytes)) on disk",
      "digest \(style(.faint, digest.description))",
    ]
    if eventsWithoutContent > 0 {
      lines.append(
        "\(Quantity.count(eventsWithoutContent, "event")) without content: the digest covers the others"
      )
    }
    if conflicts > 0 {
      lines.append("\(Quantity.count(conflicts, "open conflict")): \"heartlog conflicts\" lists them")
    }
    if !libraries.isEmpty {
      let table = Table(
        [
          .init(title: "library"), .init(title: "favorites", alignment: .right),
          .init(title: "items", alignment: .right), .init(title: "events", alignment: .right),
        ],
        rows: libraries.map { library in
          [
            .init(library.name, .name),
            .init(
              Quantity.count(library.counts.favorites), library.counts.favorites > 0 ? .favorite : .faint),
            .init(Quantity.count(library.counts.items)), .init(Quantity.count(library.counts.events)),
          ]
        })
      lines += [""] + context.lines(table)
    }
    let now = StoreOptions.systemTime()
    let table = Table(
      [
        .init(title: "replica"), .init(title: "name", isFlexible: true),
        .init(title: "head", alignment: .right), .init(title: "events", alignment: .right), .init(),
      ],
      rows: devices.map { device in
        [
          .init(device.replica.short, .name), .init(device.name), .init(Quantity.count(device.head)),
          .init(Quantity.count(device.events)), .init(device.remarks(at: now, context.times), .faint),
        ]
      })
    return lines + [""] + context.lines(table)
  }
}

extension CommandContext {
  /// Prints the status of a store, now or then.
  func show(_ status: StoreStatus, of view: StoreView, isOpenToOthers: Bool = false) throws {
    try show(
      status.json(vault: view.store.vault?.id) + .asOf(view.moment)
        + (isOpenToOthers ? ["openToOthers": true] : [:]) + .partial(view.findings),
      asOf(view.moment) + status.lines(self))
  }
}
