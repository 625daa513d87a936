import Heartlog
import HeartlogFormat
import HeartlogLibraries

/// `heartlog report`: writes what the store shows and proves as one HTML page.
enum ReportCommand: Command {
  private static let file = Option.value(
    "output", short: "o", "FILE", .file,
    "The file to write; an existing file is replaced. Default: standard output (-).")

  static let description = CommandDescription(
    name: "report", group: .check, summary: "write an evidence report as an HTML page",
    options: [.at, file],
    page: """
      One page, to read or to print, for somebody without Heartlog: the store, the devices with their keys, checkpoints and witnesses, the
      activity by library, the favorites, the open conflicts and how they were decided, and what verifying the store proves and what it does
      not. The page contains no script and loads nothing.

      With --at, favorites, conflicts, activity and counts are those of that moment; keys and verification are always those of now. Times are in
      UTC.

      heartlog report -o report.html  # Write the report of now.
      heartlog report --at 2026-03-02 -o then.html  # Write what it was at the end of that day.

      Exit code 65: Something is damaged; the report says what, and covers the sound part.
      Exit code 73: The file cannot be written.
      """)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let view = try context.openForReading(at: arguments.moment(.at))
    let found = try context.verified()
    try context.write(
      try EvidenceReport(of: view, verified: found, context).page(), to: arguments.path(Self.file))
    return try context.report(found, and: view.findings)
  }
}

/// What an evidence report says, read from a store.
struct EvidenceReport {
  /// The most favorites that are listed of a library.
  private static let favoritesMax = 100
  /// The most libraries whose favorites are listed.
  private static let librariesMax = 20
  /// The most conflicts that are listed.
  private static let conflictsMax = 200
  /// Longer titles are cut.
  private static let titleWidth = 200

  /// As of when the report is, for people; nil for now.
  let moment: String?
  let generated: Milliseconds
  let vault: VaultID?
  let status: StoreStatus
  /// As of now.
  let devices: [Device]
  /// As of now.
  let signatures: [ReplicaID: StreamSignature]
  let activity: Activity
  /// The newest favorites, of the libraries that have some.
  let favorites: [(library: StoreStatus.Library, items: [ItemState])]
  let conflicts: [Conflict]
  /// As of now.
  let verification: StoreVerification

  init(of view: StoreView, verified verification: StoreVerification, _ context: CommandContext) throws {
    let store = view.store
    moment = view.moment.map { "\($0.given.shown(.utc)) (\($0.inLog.text))" }
    generated = context.clock.now
    vault = store.vaultID
    status = try view.status()
    devices = store.devices
    signatures = try store.signatures()
    self.verification = verification
    conflicts = view.read(\.conflicts)
    let heads = Dictionary(uniqueKeysWithValues: view.read(\.heads).map { ($0.replica, $0.commit) })
    activity = try Activity(of: store, upTo: heads, in: status.libraries)
    favorites = status.libraries.filter { $0.counts.favorites > 0 }.prefix(Self.librariesMax).map { library in
      (
        library,
        view.read { $0.favorites(in: library.name, order: .newestFirst, limit: Self.favoritesMax) }
      )
    }
  }

  /// The report as an HTML page that needs nothing else.
  func page() -> [UInt8] {
    let sections: [(id: String, title: String, parts: [HTML])] = [
      ("identity", "The store", identity), ("devices", "Devices and keys", keys),
      ("activity", "Activity", activities), ("favorites", "Favorites", lists),
      ("conflicts", "Conflicts", sides), ("verification", "Verification", verified),
      ("meaning", "What this proves, and what it does not", meaning),
    ]
    let contents = sections.map { HTML(.li, HTML(.a, ["href": "#\($0.id)"], HTML(text: $0.title))) }
    let bodies = sections.map { id, title, parts in
      HTML(
        .section, ["id": id, "aria-labelledby": "\(id)-title"],
        HTML(.h2, ["id": "\(id)-title"], HTML(text: title)), HTML(parts))
    }
    // Even if something got through the escaping, no browser would run or load it.
    let policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    return HTML.page(
      ["lang": "en"],
      HTML(
        .head, HTML(.meta, ["charset": "utf-8"]),
        HTML(.meta, ["http-equiv": "Content-Security-Policy", "content": policy]),
        HTML(.meta, ["name": "viewport", "content": "width=device-width, initial-scale=1"]),
        HTML(.title, "Heartlog: evidence report of \(status.path)"), .style(ReportStyle.sheet)),
      HTML(
        .body,
        HTML(
          .header, HTML(.h1, "Evidence report"),
          HTML(
            .p,
            "The store as of \(moment ?? "now"). Made on \(.time(generated)) by the clock of the machine that made it. All times are in UTC."
          )),
        HTML(.nav, ["aria-label": "Contents"], HTML(.ul, HTML(contents))), HTML(.main, HTML(bodies)),
        HTML(
          .footer,
          "heartlog \(Version.text). This page is a copy of what the store says, and is not signed itself.")))
  }

  /// The name of a device with the first digits of its replica.
  private func device(_ replica: ReplicaID) -> HTML {
    let name = status.devices.first { $0.replica == replica }?.name ?? ""
    return name.isEmpty ? .code(replica.short) : "\(.code(replica.short)) \(.name(name))"
  }

  // MARK: - Identity

  private var identity: [HTML] {
    let uncovered: HTML =
      status.eventsWithoutContent > 0
      ? ", of which \(.count(status.eventsWithoutContent)) are without content and not covered by the digest"
      : ""
    let entries: [(title: HTML, text: HTML)] = [
      ("Store", .name(status.path)),
      ("Vault", vault.map { .code($0) } ?? "none: it has never synced"),
      ("This device", "\(.name(status.name)) \(.code(status.replica))"), ("Digest", .code(status.digest)),
      ("Events", "\(.count(status.events)) in \(.count(status.commits)) commits\(uncovered)"),
      ("Size", "\(Quantity.size(bytes: status.bytes)) on disk, now"),
      ("Versions", "heartlog \(Version.text), store format \(Version.storeFormat)"),
    ]
    return [
      HTML(.dl, HTML(entries.map { HTML(.dt, $0.title) + HTML(.dd, $0.text) })),
      HTML(
        .p,
        "The digest covers everything that is visible at that moment: two stores that show the same have the same digest, on any machine."
      ),
    ]
  }

  // MARK: - Devices

  private var keys: [HTML] {
    [
      .table(
        caption: "The devices whose commits are in the store, with their commits and events at that moment",
        [.text("device"), .text("replica"), .number("commits"), .number("events"), .text("remarks")],
        rows: status.devices.map { device in
          [
            .name(device.name.isEmpty ? "(no name)" : device.name), .code(device.replica),
            .count(device.head),
            .count(device.events),
            HTML(
              text: devices.first { $0.replica == device.replica }?.remarks(at: generated, .utc) ?? ""),
          ]
        }),
      HTML(.h3, "Keys, checkpoints and witnesses"),
      HTML(
        .p,
        "A device signs a checkpoint with its key: a text that fixes its first commits by the root of their hash tree. Another device "
          + "that has seen the checkpoint cosigns it as a witness. These are the newest that this store has, now."
      ),
      .table(
        caption: "The key, the newest signed checkpoint and the witnesses of each device",
        [.text("device"), .text("fingerprint of the key"), .number("signed commits"), .text("witnesses")],
        rows: devices.map { device in
          guard let signature = signatures[device.replica] else {
            return [self.device(device.replica), "no key, or nothing signed yet", .count(0), "none"]
          }
          let confirmed = device.isOwn ? "this device" : signature.isTrusted ? "confirmed" : "not confirmed"
          let witnesses = signature.witnesses.map { HTML(.div, self.device($0)) }
          return [
            self.device(device.replica),
            "\(.code(Fingerprint.text(signature.checkpoint.key.fingerprint)))\(HTML(.div, HTML(text: confirmed)))",
            .count(signature.checkpoint.checkpoint.size), witnesses.isEmpty ? "none" : HTML(witnesses),
          ]
        }),
    ]
      + devices.compactMap { device in
        signatures[device.replica].map { signature in
          HTML(.h3, "The signed checkpoint of \(self.device(device.replica))")
            + .lines(String(decoding: signature.checkpoint.note.bytes.dropLast(), as: UTF8.self))
        }
      }
  }

  // MARK: - Activity

  private var activities: [HTML] {
    guard !activity.intervals.isEmpty else { return [HTML(.p, "There are no events.")] }
    let unit = activity.unit
    var omissions: [String] = []
    if activity.earlierPeriods > 0 {
      omissions.append("\(Quantity.count(activity.earlierPeriods, "earlier \(unit)")) with events")
    }
    if activity.otherLibraries > 0 {
      omissions.append(
        "\(Quantity.count(activity.otherLibraries, "library", "libraries")) with fewer events (included in the sums)"
      )
    }
    let numbers: [HTML.Column] = [
      .number("added"), .number("removed"), .number("changed"), .number("favorites at its end"),
    ]
    return [
      HTML(
        .p,
        "Events count by the wall time of the device that wrote them, in \(unit)s of UTC. An undo adds events and takes none away."
      ), omissions.isEmpty ? "" : HTML(.p, "Not shown: \(omissions.joined(separator: "; "))."),
      ActivityChart(activity: activity).html,
      .table(
        caption:
          "Events by \(unit) and library: the numbers of the chart. \(unit.prefix(1).uppercased() + unit.dropFirst())s without events are left out.",
        [.text(unit), .text("library")] + numbers, bodies: activity.intervals.map(rows)),
      .table(
        caption: "Events by device and origin", [.text("device"), .text("origin"), .number("events")],
        rows: activity.sources.map {
          [device($0.replica), .name($0.origin ?? "(none)"), .count($0.events)]
        }),
    ]
  }

  private func rows(of interval: Statistics.Interval) -> HTML {
    let libraries = activity.libraries.compactMap { library in
      library.intervals[interval.start].map { (name: library.name, counts: $0) }
    }
    func cells(_ title: HTML, _ counts: Statistics.Interval) -> HTML {
      HTML(.td, title)
        + HTML(
          [counts.favorited, counts.unfavorited, counts.changed, counts.favoritesAtEnd].map {
            HTML(.td, ["class": "n"], .count($0))
          })
    }
    let heading = HTML(
      .th, ["scope": "rowgroup", "rowspan": "\(libraries.count + 1)"],
      HTML(text: activity.label(interval)))
    return HTML(
      .tbody, HTML(.tr, heading, cells(HTML(.strong, "all libraries"), interval)),
      HTML(libraries.map { HTML(.tr, cells(.name($0.name), $0.counts)) }))
  }

  // MARK: - Favorites

  private var lists: [HTML] {
    guard !status.libraries.isEmpty else { return [HTML(.p, "There are no libraries.")] }
    let more = status.libraries.count { $0.counts.favorites > 0 } - favorites.count
    return [
      .table(
        caption: "The libraries",
        [.text("library"), .number("favorites"), .number("items"), .number("events")],
        rows: status.libraries.map {
          [.name($0.name), .count($0.counts.favorites), .count($0.counts.items), .count($0.counts.events)]
        }),
      more > 0
        ? HTML(
          .p, "The favorites of \(Quantity.count(more, "more library", "more libraries")) are not listed.")
        : "",
    ]
      + favorites.map { library, items in
        let total = library.counts.favorites
        let caption =
          items.count < total
          ? "The newest \(Quantity.count(items.count)) of \(Quantity.count(total)) favorites"
          : "All \(Quantity.count(total, "favorite")), newest first"
        let descriptor = LibraryRegistry.standard[library.name]
        return HTML(.h3, .name(library.name))
          + .table(
            caption: caption, [.text("id"), .text("title"), .text("favorite since")],
            rows: items.map { item in
              [
                .name(item.id),
                .name(DisplayText.truncated(descriptor.titleLine(of: item), to: Self.titleWidth)),
                item.favoritedDate.map { .time($0) } ?? "",
              ]
            })
      }
  }

  // MARK: - Conflicts

  private var sides: [HTML] {
    let introduction = HTML(
      .p,
      "A conflict is open if two devices wrote different values without having seen each other's. Every device decides alike: the "
        + "write that is last in the total order is shown, by its stamp, and if stamps are equal, by the higher replica. The others are "
        + "kept until a device that has seen all of them writes again."
    )
    guard !conflicts.isEmpty else { return [introduction, HTML(.p, "There are no open conflicts.")] }
    let shown = conflicts.prefix(Self.conflictsMax)
    let caption =
      shown.count < conflicts.count
      ? "The first \(Quantity.count(shown.count)) of \(Quantity.count(conflicts.count)) open conflicts"
      : "All \(Quantity.count(conflicts.count, "open conflict"))"
    return [
      introduction,
      .table(
        caption: caption,
        [
          .text("library and item"), .text("about"), .text("side"), .text("value"), .text("device"),
          .text("stamp"), .text("decided by"),
        ], bodies: shown.map(sides)),
    ]
  }

  private func sides(of conflict: Conflict) -> HTML {
    let span = "\(conflict.writes.count)"
    let isByReplica = conflict.writes[0].stamp == conflict.writes[1].stamp
    let rows = conflict.writes.enumerated().map { index, side in
      let first = HTML(
        .th, ["scope": "rowgroup", "rowspan": span], "\(.name(conflict.library)) \(.name(conflict.item))")
      let about = HTML(.td, ["rowspan": span], .name(ConflictPage.name(conflict.register)))
      let reason = HTML(
        .td, ["rowspan": span],
        isByReplica ? "the higher replica; the stamps are equal" : "the later stamp")
      return HTML(
        .tr, index == 0 ? first + about : "", HTML(.td, index == 0 ? "shown" : "other"),
        HTML(.td, .name(DisplayText.truncated(ConflictPage.text(side.value), to: Self.titleWidth))),
        HTML(.td, "\(device(side.event.replica)), event \(side.event.sequence)"),
        HTML(.td, "\(.time(side.stamp.milliseconds)) \(.code(side.stamp))"), index == 0 ? reason : "")
    }
    return HTML(.tbody, HTML(rows))
  }

  // MARK: - Verification

  private var verified: [HTML] {
    let introduction = HTML(
      .p,
      "Every byte of the log and of the snapshots was read, and compared with checksums, hash trees and signatures. This covers the "
        + "whole store as it was when the report was made, also if the report is of an earlier moment."
    )
    guard !verification.streams.isEmpty else {
      return [introduction, HTML(.p, "The store is empty: there was nothing to verify.")]
    }
    func result(_ text: String, isGood: Bool) -> HTML {
      HTML(.span, ["class": isGood ? "good" : "bad"], HTML(text: text))
    }
    let streams = HTML.table(
      caption: "The streams of the devices",
      [
        .text("device"), .text("result"), .number("commits"), .number("events"), .number("signed"),
        .number("not signed"), .text("key"), .text("root"),
      ],
      rows: verification.streams.map { stream in
        [
          device(stream.replica), result(stream.isSound ? "sound" : "damaged", isGood: stream.isSound),
          .count(stream.commits), .count(stream.events), .count(stream.signedCommits),
          .count(stream.commits - stream.signedCommits),
          stream.checkpoint == nil
            ? "none" : stream.isOwn ? "own" : stream.isTrusted ? "confirmed" : "not confirmed",
          .code(stream.root),
        ]
      })
    guard !verification.snapshots.isEmpty else { return [introduction, streams] }
    let snapshots = HTML.table(
      caption: "The snapshots, which the log does not need",
      [.text("snapshot"), .text("result"), .number("events")],
      rows: verification.snapshots.map { snapshot in
        let text = snapshot.problem.map { "damaged: \($0)" } ?? (snapshot.isOfUse ? "sound" : "unused")
        return [
          .name(snapshot.name), result(text, isGood: snapshot.problem == nil), .count(snapshot.events),
        ]
      })
    return [introduction, streams, snapshots]
  }

  // MARK: - What follows

  private var meaning: [HTML] {
    var results = verification.streams.map {
      HTML(.li, "\(device($0.replica)): \(Self.meaning(of: $0))")
    }
    if verification.snapshots.contains(where: { $0.problem != nil }) {
      results.append(
        HTML(
          .li,
          "A snapshot is damaged. If it differs from the log, one of the two was changed: compare with another device."
        ))
    }
    return [
      HTML(.h3, "What the verification shows"), HTML(.ul, HTML(results)),
      HTML(.h3, "What it does not show"), HTML(.ul, HTML(Self.limits.map { HTML(.li, $0) })),
      HTML(.h3, "How to check it yourself"),
      HTML(
        .p,
        "This page is a copy, and anybody can edit a page. With the store at hand, run \"heartlog verify\" and \"heartlog devices "
          + "--keys\", and compare roots, digest and fingerprints; with a device at hand, compare the fingerprint that it shows of itself."
      ),
    ]
  }

  /// What is known of a stream.
  private static func meaning(of stream: StreamVerification) -> String {
    var sentences: [String] = []
    let commits = Quantity.count(stream.commits, "commit")
    if let finding = stream.finding {
      sentences.append(
        finding.verdict == .torn
          ? "The last batch was not finished, which is no damage: it was never acknowledged."
          : "Damaged: \(finding.error.description).")
    }
    let sound =
      stream.isSound
      ? "All \(commits) agree with their checksums"
      : "The \(commits) before the damage agree with their checksums"
    sentences.append(
      "\(sound) and with one hash tree. That finds accidents; a person with write access can put checksums right."
    )
    let signed = stream.signedCommits
    guard signed > 0 else {
      sentences.append(
        "Nothing is signed: who wrote these commits, and that nobody changed them since, is not proved.")
      return sentences.joined(separator: " ")
    }
    sentences.append(
      "Up to commit \(Quantity.count(signed)) they are what the holder of the key signed: a change there, made without the key, would "
        + "have been found."
    )
    if stream.commits > signed {
      let later = stream.commits - signed
      sentences.append(
        "The \(Quantity.count(later, "commit")) after that \(later == 1 ? "is" : "are") not signed yet, and could have been changed, added or cut off unnoticed."
      )
    }
    if !stream.isOwn, !stream.isTrusted {
      sentences.append(
        "Nobody has confirmed the key: it is the one that came at the first contact, and may be that of somebody who was in between. "
          + "\"heartlog devices trust\" confirms it."
      )
    }
    return sentences.joined(separator: " ")
  }

  /// What no store can prove, whatever its verification says.
  private static let limits: [HTML] = [
    "Freshness: that there is nothing newer. A device may have written more that this store has not received, and a whole store can be "
      + "put back to an earlier state; only a device or a witness that has seen more can tell.",
    "An honest clock: times are what the devices' clocks said. The order of a device's signed commits is proved, their times are not.",
    "Copies elsewhere: what was removed or erased here may exist on other devices, in backups, or in exports.",
    "Who held the device: a signature shows which key signed, not which person tapped. A stolen or copied key signs as well as the device.",
    "Completeness: that a device recorded everything that was done with it.",
  ]
}

extension StreamVerification {
  fileprivate var signedCommits: UInt64 { checkpoint?.checkpoint.size ?? 0 }
}
