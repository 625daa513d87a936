import Heartlog
import HeartlogShipping

/// `heartlog repair`: rebuilds damaged files, mends damaged streams from another copy, or makes a new store of what can be read.
struct RepairCommand: Command {
  private static let source = Option.value(
    "from", "PEER", .peer,
    "Another copy of damaged streams: a store's directory, folder:DIR, exec:COMMAND, or ssh://[user@]host[:port]/path."
  )
  private static let rescue = Option.value(
    "salvage", "DIR", .directory, "Leave the store as it is; make a new one of all that can be read.")
  private static let isDryRun = Option.flag("dry-run", "Change nothing; report what would be done.")
  private static let name = Option.value(
    "name", "NAME", .text,
    "The name of this device, in case it is lost, or in the new store. Default: the name in the streams, or of the host."
  )

  static let description = CommandDescription(
    name: "repair", group: .check, summary: "rebuild damaged files, or salvage what can be read",
    options: [source, rescue, isDryRun, name],
    paragraphs: [
      "Rebuilds the file \"store\", which identifies the writer, and the ends of forked streams from the contents of the streams. "
        + "If nothing proves that the folder is not a copy, the device continues under a new identity, which loses nothing. The "
        + "remains of the damaged files are kept beside the new ones. A sound store is not changed.",
      "With --from, damaged segments are replaced by what another copy has of their commits, the own ones included. It is received and "
        + "checked as by a sync, and must continue, or be, everything that can be read here. Nothing is sent.",
      "With --salvage, a new store receives everything that can be read, and the output names exactly what cannot: commits, files and "
        + "bytes. Commits behind lost ones go on as streams of their own. With --from, lost commits are looked for there first.",
    ],
    examples: [
      .init("heartlog repair --dry-run", "Report what is damaged and what would be done."),
      .init("heartlog repair", "Repair the store."),
      .init(
        "heartlog repair --from ssh://anna@desk.local/~/favorites.heartlog",
        "Mend damaged streams with what another device has."),
      .init("heartlog repair --salvage ~/rescued.heartlog", "Make a new store of all that can be read."),
    ],
    endings: [
      .init(.badInput, "Some damage was not repaired, or something is lost; the output names it."),
      .init(.noStore, "The store or PEER does not exist."),
      .init(.cannotCreate, "There already is something at DIR, or it cannot be created."),
      .init(.inputOutput, "The connection to PEER failed."),
      .init(.tryAgain, "Another process is writing to the store, or PEER was silent: try again."),
    ])

  let source: PeerAddress?
  let rescue: String?
  let isDryRun: Bool
  let name: String?

  init(_ arguments: Arguments) throws(CommandError) {
    source = try arguments.text(Self.source).map { (text) throws(CommandError) in try PeerAddress(text) }
    if case .hub? = source {
      throw .usage(
        "a store cannot be repaired from a hub, which admits only the store's own key",
        hint: "Use another device or a folder. Or make a new store with \"heartlog init\", and sync that "
          + "with the hub.")
    }
    rescue = arguments.text(Self.rescue)
    isDryRun = arguments.has(Self.isDryRun)
    name = arguments.text(Self.name)
    if rescue != nil, isDryRun { throw .usage("--salvage cannot be used with --dry-run") }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let directory = try context.storeDirectory()
    do {
      let carrier = try source.map { try $0.carrier(context, endsSoon: true) }
      defer { try? context.opened.closePeers() }
      return try rescue.map { try salvage(directory, to: $0, carrier, context) }
        ?? repair(directory, carrier, context)
    } catch let error as HeartlogError where source != nil && error.file != directory {
      throw SyncRun.shown(error)
    }
  }

  private func repair(
    _ directory: String, _ carrier: (any Carrier)?, _ context: CommandContext
  ) throws -> ExitCode {
    let report = try context.withByteProgress("verifying") { progress in
      if let carrier {
        try FavoritesStore.repair(
          at: directory, from: carrier, name: name, isDryRun: isDryRun, progress: progress)
      } else {
        try FavoritesStore.repair(at: directory, name: name, isDryRun: isDryRun, progress: progress)
      }
    }
    if context.isJSON {
      try context.jsonLine { Self.write(report, to: &$0) }
    } else {
      for line in Self.lines(report, context.style) { try context.output.line(line) }
      if !report.isSound, carrier == nil { try context.output.line(Self.advice) }
    }
    return report.isSound ? .success : .badInput
  }

  private static let advice =
    "If another device or a folder has what is missing: \"heartlog repair --from PEER\". Otherwise \"heartlog repair --salvage DIR\" "
    + "makes a new store of all that can be read."

  private static func write(_ report: RepairReport, to json: inout JSONWriter) {
    json.member("dryRun", report.isDryRun)
    if let replica = report.replica { json.member("replica", replica.description) }
    json.member("name", report.name)
    if let former = report.formerReplica { json.member("formerReplica", former.description) }
    json.member("files", objects: report.entries) { entry, json in
      json.member("file", entry.file)
      json.member("damage", entry.damage)
      json.member("isMended", entry.isMended)
      json.member("outcome", entry.outcome)
      if let kept = entry.keptAt { json.member("keptAt", kept) }
    }
  }

  private static func lines(_ report: RepairReport, _ style: Style) -> [String] {
    if report.entries.isEmpty { return ["nothing to repair"] }
    var lines: [String] = []
    for entry in report.entries {
      let verb = report.isDryRun && entry.isMended ? "would be " : ""
      let outcome = style(entry.isMended ? .good : .failure, verb + entry.outcome)
      lines += [DisplayText.visible("\(entry.file): \(entry.damage)"), "  \(outcome)"]
      if let kept = entry.keptAt { lines.append(DisplayText.visible("  damaged file kept as: \(kept)")) }
    }
    if report.entries.contains(where: { $0.isMended && $0.file.hasSuffix("/store") }) {
      lines.append(writer(report))
    }
    return lines
  }

  /// The line that names the device that writes from now on.
  private static func writer(_ report: RepairReport) -> String {
    func shown(_ replica: ReplicaID) -> String { String(replica.description.prefix(EventLine.prefixDigits)) }
    var words = [report.isDryRun ? "this device would be" : "this device is"]
    words.append(report.name.isEmpty ? "without a name" : report.name)
    words.append(report.replica.map { "(\(shown($0)))" } ?? "(a new identity)")
    let former = report.formerReplica.map { "; it was \(shown($0))" } ?? ""
    return DisplayText.visible(words.joined(separator: " ") + former)
  }

  // MARK: - Salvage

  private func salvage(
    _ directory: String, to rescue: String, _ carrier: (any Carrier)?, _ context: CommandContext
  ) throws -> ExitCode {
    var options = StoreOptions()
    options.name = name ?? Terminal.hostName()
    options.origin = CommandContext.origin
    let report = try FavoritesStore.salvage(at: directory, to: rescue, from: carrier, options: options)
    context.untold.add("the new store \(rescue)")
    let page = SalvagePage(report: report, folder: rescue)
    if context.isJSON {
      try context.jsonLine { page.write(to: &$0) }
    } else {
      for line in page.lines(context.style) { try context.output.line(line) }
    }
    return report.isWhole ? .success : .badInput
  }
}
