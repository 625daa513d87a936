import Heartlog
import HeartlogSync

/// `heartlog repair`: rebuilds damaged files, repairs damaged streams from another copy, or makes a new store of what can be read.
enum RepairCommand: Command {
  private static let source = Option.value(
    "from", "PEER", .peer,
    "Another copy of damaged streams: a store's directory, folder:DIR, exec:COMMAND, or ssh://[user@]host[:port]/path."
  )
  private static let rescue = Option.value(
    "salvage", "DIR", .directory, "Leave the store as it is; make a new one of all that can be read.")
  private static let dryRun = Option.flag("dry-run", "Change nothing; report what would be done.")
  private static let name = Option.value(
    "name", "NAME", .text,
    "The name of this device, in case it is lost, or in the new store. Default: the name in the streams, or of the host."
  )

  static let description = CommandDescription(
    name: "repair", group: .check, summary: "rebuild damaged files, or salvage what can be read",
    options: [source, rescue, dryRun, name],
    page: #"""
      Rebuilds the file "store", which identifies the writer, and the ends of forked streams from the contents of the streams. If nothing proves
      that the folder is not a copy, the device continues under a new identity, which loses nothing. The remains of the damaged files are kept
      beside the new ones. A sound store is not changed.

      If commits are lost that a snapshot was made from, what the snapshot shows is written anew, dates and fields kept, unless something
      later is there. If it knows other devices, sync with them first, and use --from with one of them.

      With --from, damaged segments are replaced by what another copy has of their commits, the own ones included. It is received and checked as
      by a sync, and must continue, or be, everything that can be read here. Nothing is sent.

      With --salvage, a new store receives everything that can be read, and the output names exactly what cannot: commits, files and bytes.
      Commits behind lost ones go on as streams of their own. With --from, lost commits are looked for there first.

      heartlog repair --dry-run  # Report what is damaged and what would be done.
      heartlog repair  # Repair the store.
      heartlog repair --from ssh://anna@desk.local/~/favorites.heartlog  # Mend damaged streams with what another device has.
      heartlog repair --salvage ~/rescued.heartlog  # Make a new store of all that can be read.

      Exit code 65: Some damage was not repaired, or something is lost; the output names it.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let source = try arguments.text(Self.source).map { try PeerAddress($0) }
    if case .hub? = source {
      throw CommandError.usage(
        "a store cannot be repaired from a hub, which admits only the store's own key",
        hint: "Use another device or a folder. Or make a new store with \"heartlog init\", and sync that "
          + "with the hub.")
    }
    let isDryRun = arguments.has(Self.dryRun)
    let name = arguments.text(Self.name)
    let rescue = arguments.text(Self.rescue)
    try arguments.refuse(Self.rescue, with: Self.dryRun)
    let directory = try context.storeDirectory()
    do {
      let carrier = try source.map { try $0.carrier(context, endsSoon: true) }
      defer { try? context.closePeers() }
      return try rescue.map { try salvage(directory, to: $0, carrier, name: name, context) }
        ?? repair(directory, carrier, name: name, isDryRun: isDryRun, context)
    } catch let error as HeartlogError where source != nil && error.file != directory {
      throw SyncRun.shown(error)
    }
  }

  private static func repair(
    _ directory: String, _ carrier: (any Carrier)?, name: String?, isDryRun: Bool, _ context: CommandContext
  ) throws -> ExitCode {
    let report = try context.withByteProgress("verifying") { progress in
      if let carrier {
        try FavoritesStore.repair(
          at: directory, from: carrier, name: name, isDryRun: isDryRun, progress: progress)
      } else {
        try FavoritesStore.repair(at: directory, name: name, isDryRun: isDryRun, progress: progress)
      }
    }
    let advice = report.isSound || carrier != nil ? [] : [Self.advice]
    try context.show(Self.json(report), Self.lines(report, context.style) + advice)
    return report.isSound ? .success : .badInput
  }

  private static let advice =
    "If another device or a folder has what is missing: \"heartlog repair --from PEER\". Otherwise \"heartlog repair --salvage DIR\" "
    + "makes a new store of all that can be read."

  private static func json(_ report: RepairReport) -> JSONObject {
    let files = report.entries.map { entry -> JSONObject in
      [
        "file": entry.file, "damage": entry.damage, "isRepaired": entry.isRepaired, "outcome": entry.outcome,
        "keptAt?": entry.keptAt,
      ]
    }
    return [
      "dryRun": report.isDryRun, "replica?": report.replica, "name": report.name,
      "formerReplica?": report.formerReplica, "files": files,
    ]
  }

  private static func lines(_ report: RepairReport, _ style: Style) -> [String] {
    if report.entries.isEmpty { return ["nothing to repair"] }
    var lines: [String] = []
    for entry in report.entries {
      let verb = report.isDryRun && entry.isRepaired ? "would be " : ""
      let outcome = style(entry.isRepaired ? .good : .failure, verb + entry.outcome)
      lines += [DisplayText.visible("\(entry.file): \(entry.damage)"), "  \(outcome)"]
      if let kept = entry.keptAt { lines.append(DisplayText.visible("  damaged file kept as: \(kept)")) }
    }
    if report.entries.contains(where: { $0.isRepaired && $0.file.hasSuffix("/store") }) {
      lines.append(writer(report))
    }
    return lines
  }

  /// The line that names the device that writes from now on.
  private static func writer(_ report: RepairReport) -> String {
    var words = [report.isDryRun ? "this device would be" : "this device is"]
    words.append(report.name.isEmpty ? "without a name" : report.name)
    words.append(report.replica.map { "(\($0.short))" } ?? "(a new identity)")
    let former = report.formerReplica.map { "; it was \($0.short)" } ?? ""
    return DisplayText.visible(words.joined(separator: " ") + former)
  }

  // MARK: - Salvage

  private static func salvage(
    _ directory: String, to rescue: String, _ carrier: (any Carrier)?, name: String?,
    _ context: CommandContext
  ) throws -> ExitCode {
    let options = StoreOptions(named: name)
    let report = try FavoritesStore.salvage(at: directory, to: rescue, from: carrier, options: options)
    context.unreported.add("the new store \(rescue)")
    try context.show(report.json(rescue), report.lines(rescue, context.style))
    return report.isWhole ? .success : .badInput
  }
}

extension SalvageReport {
  fileprivate func lines(_ folder: String, _ style: Style) -> [String] {
    var lines = [DisplayText.visible("\(folder) has \(Quantity.count(events, "event"))")]
    for stream in streams {
      let name = [stream.replica.short, stream.name].filter { !$0.isEmpty }.joined(separator: "  ")
      let mark = stream.isWhole ? style(.good, "whole") : style(.failure, "lost ")
      lines.append("\(mark)  \(DisplayText.visible(name))  \(Quantity.count(stream.lastCommit, "commit"))")
      lines += details(of: stream).map { DisplayText.visible("  \($0)") }
    }
    lines.append(isWhole ? "nothing is lost" : "the damaged store is unchanged")
    return lines
  }

  private func details(of stream: SalvagedStream) -> [String] {
    var lines = stream.lost.map { "\($0.phrase) lost" }
    if stream.mayLackMore { lines.append("more commits at the end may be lost") }
    lines += stream.branches.map { "\($0.commits.phrase) go on as \($0.replica.short)" }
    lines += stream.badBytes.map {
      "\($0.file): \(Quantity.count($0.byteCount, "byte")) from offset \($0.offset): \($0.reason)"
    }
    return lines
  }

  fileprivate func json(_ folder: String) -> JSONObject {
    [
      "store": folder, "replica": replica, "events": events, "isWhole": isWhole,
      "streams": streams.map { stream -> JSONObject in
        [
          "replica": stream.replica, "name": stream.name, "commits": stream.lastCommit,
          "isWhole": stream.isWhole, "lost": stream.lost.map { JSONObject($0) },
          "mayLackMore": stream.mayLackMore,
          "branches": stream.branches.map { ["replica": $0.replica] + JSONObject($0.commits) },
          "badBytes": stream.badBytes.map { bytes -> JSONObject in
            [
              "file": bytes.file, "offset": bytes.offset, "bytes": bytes.byteCount, "reason": bytes.reason,
            ]
          },
        ]
      },
    ]
  }
}
