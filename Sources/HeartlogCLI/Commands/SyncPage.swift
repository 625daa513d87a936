import Heartlog
import HeartlogSync

/// Formats the report of a sync, as text and as JSON.
struct SyncPage {
  let report: SyncReport
  /// The peer as it was given on the command line.
  let peer: String
  let isPull: Bool
  /// The number of open conflicts of this store after the sync.
  let conflicts: Int

  /// The number of events of this store whose content is not here.
  var withoutContent: UInt64 = 0

  /// Where objects are, if the peer is a place for them.
  var place: String? = "in the folder"

  /// Whether commits were transferred or forks were found.
  var hasNews: Bool {
    report.received.commits > 0 || report.sent.commits > 0 || !report.forks.isEmpty
      || report.erasure.eventCount > 0
  }

  /// Sentences about problems that do not go away by themselves.
  var failures: [String] {
    var failures: [String] = []
    // If a store takes nothing, all its streams have the same reason.
    var reasons: Set<String> = []
    for stream in report.skipped where !stream.cause.isPassing && reasons.insert(stream.reason).inserted {
      let others = report.skipped.filter { $0.reason == stream.reason }.count - 1
      let more = others > 0 ? " The same holds for \(Quantity.count(others, "other stream"))." : ""
      failures.append("\(Self.sentence(stream)).\(more)")
    }
    if let failure = report.erasureFailure {
      failures.append("what was to be erased is still here, until the next sync: \(failure).")
    }
    if let unfinished = report.unfinished { failures.append(Self.sentence(unfinished)) }
    if let damage = report.peerDamage {
      failures.append("the peer sent only what it can read: \(damage).")
    }
    return failures.map(DisplayText.visible)
  }

  var lines: [String] {
    var lines = ["\(verb) \(shownPeer): \(amounts)"]
    if !report.isDryRun {
      let received = Quantity.size(bytes: report.received.bytes)
      let sent = Quantity.size(bytes: report.sent.bytes)
      lines.append(
        "\(Quantity.count(report.changedItems, "item")) changed; \(Quantity.count(report.streams, "stream")); "
          + "\(received) read, \(sent) written")
    }
    lines += folderLines
    lines += report.forks.map(Self.sentence)
    lines += report.skipped.filter(\.cause.isPassing).map(Self.sentence)
    if let ahead = report.peerClockAheadMilliseconds, abs(ahead) >= 60_000, !isNamed(report.peer) {
      let span = Quantity.duration(seconds: Double(abs(ahead)) / 1_000)
      lines.append("the peer's clock is \(span) \(ahead > 0 ? "ahead of" : "behind") this device's")
    }
    lines += report.erasure.lines
    if conflicts > 0, !report.isDryRun {
      lines.append("\(Quantity.count(conflicts, "open conflict")): \"heartlog conflicts\" lists them")
    }
    if withoutContent > 0, !report.isDryRun {
      let events = Quantity.count(withoutContent, "event")
      lines.append(
        report.isComplete && report.skipped.isEmpty
          ? "same history, less content: \(events) here without content"
          : "\(events) here without content")
    }
    return lines.map(DisplayText.visible)
  }

  /// Sentences about devices whose clocks are far ahead.
  var warnings: [String] { report.clocksAhead.map { DisplayText.visible(sentence($0)) } }

  private func isNamed(_ replica: ReplicaID?) -> Bool {
    report.clocksAhead.contains { $0.replica == replica }
  }

  private func sentence(_ clock: SyncReport.ClockAhead) -> String {
    let device = clock.replica.map { Self.shown($0, clock.name ?? "") } ?? peer
    let span = Quantity.duration(seconds: Double(clock.milliseconds) / 1_000)
    return
      "the clock of \(device) is \(span) ahead of this device's: its taps win over later taps of devices that have not received them. "
      + "Set that clock right."
  }

  private static func sentence(_ unfinished: SyncReport.Unfinished) -> String {
    let left = [(unfinished.commitsToReceive, "receive"), (unfinished.commitsToSend, "send")].compactMap {
      (commits, way) in commits.flatMap { $0 > 0 ? "\(Quantity.count($0, "commit")) to \(way)" : nil }
    }
    let what = left.isEmpty ? "" : "; left: \(left.joined(separator: ", "))"
    return "ended early\(what). The next sync continues from here."
  }

  /// `25 events in 20 commits received, nothing sent`.
  var amounts: String {
    "\(way("received", report.received)), \(isPull ? "nothing sent" : way("sent", report.sent))"
  }

  private var verb: String {
    if report.isDryRun { return "would sync with" }
    let part = report.unfinished == nil ? "" : " in part"
    return isPull ? "pulled\(part) from" : "synced\(part) with"
  }

  private var shownPeer: String {
    guard let replica = report.peer else { return peer }
    return Self.shown(replica, report.peerName.flatMap { $0.isEmpty ? nil : $0 } ?? peer)
  }

  private func way(_ verb: String, _ amount: SyncReport.Amount) -> String {
    guard amount.commits > 0 else { return "nothing \(verb)" }
    let commits = Quantity.count(amount.commits, "commit")
    guard let events = amount.events else { return "\(commits) \(verb)" }
    return "\(Quantity.count(events, "event")) in \(commits) \(verb)"
  }

  /// Damaged files that are named; the others are counted.
  private static let damagedNamesMax = 3

  private var folderLines: [String] {
    guard let folder = report.folder, let place else { return [] }
    let counts = [
      (folder.runs, folder.runs == 1 ? "run file" : "run files"), (folder.placeholders, "not downloaded yet"),
      (folder.damaged, "damaged"), (folder.plain, "refused, not encrypted"),
      (folder.locked, "of another key"), (folder.revoked, "of revoked devices"),
      (folder.waiting, "waiting for an earlier file"),
      (folder.copies, "copied under another name"), (folder.foreign, "foreign"), (folder.written, "written"),
      (folder.removed, "removed"),
    ].filter { $0.0 > 0 }.map { "\(Quantity.count($0.0)) \($0.1)" }
    let damaged = folder.damagedNames.prefix(Self.damagedNamesMax).map {
      "damaged: \(DisplayText.visible($0)); the device that wrote it puts it again at its next sync"
    }
    return counts.isEmpty ? [] : ["\(place): \(counts.joined(separator: ", "))"] + damaged
  }

  private static func sentence(_ fork: SyncReport.Fork) -> String {
    let position = fork.lastCommon.map { $0.rawValue == 0 ? " from its start" : " after commit \($0)" } ?? ""
    let what =
      "forked: two stores wrote the stream of \(shown(fork.replica, fork.name))\(position), because one of them was copied or restored"
    return fork.isEnded
      ? "\(what); the stream ends there, and both continue as separate streams"
      : "\(what); a sync in both directions keeps both"
  }

  private static func sentence(_ stream: SyncReport.SkippedStream) -> String {
    let verb =
      switch stream.cause {
      case .waiting: "waiting"
      case .unsigned: "held"
      case .refused, .clock, .full: "refused"
      case .damaged, .peerDamaged: "skipped"
      case .unsent: "not sent"
      }
    return
      "\(verb): the stream of \(shown(stream.replica, stream.name)) from commit \(stream.firstCommit) on: \(stream.reason)"
  }

  private static func shown(_ replica: ReplicaID, _ name: String) -> String {
    name.isEmpty ? replica.short : "\(name) (\(replica.short))"
  }

  var json: JSONObject {
    let forks = report.forks.map { fork -> JSONObject in
      [
        "replica": fork.replica, "name": fork.name, "lastCommon?": fork.lastCommon, "isEnded": fork.isEnded,
      ]
    }
    let skipped = report.skipped.map { stream -> JSONObject in
      [
        "replica": stream.replica, "name": stream.name, "firstCommit": stream.firstCommit,
        "cause": stream.cause.rawValue, "reason": stream.reason,
      ]
    }
    let unfinished = report.unfinished.map { left -> JSONObject in
      ["commitsToReceive?": left.commitsToReceive, "commitsToSend?": left.commitsToSend]
    }
    let clocks = report.clocksAhead.map { clock -> JSONObject in
      ["replica?": clock.replica, "name?": clock.name, "aheadSeconds": Int(clock.milliseconds / 1_000)]
    }
    let sums: JSONObject = [
      "peer": peer, "peerReplica?": report.peer, "peerName?": report.peerName, "dryRun": report.isDryRun,
      "pull": isPull, "received": Self.json(report.received), "sent": Self.json(report.sent),
      "changedItems": report.changedItems, "conflicts": conflicts, "recoveryCode?": report.recoveryCode,
    ]
    return sums + (report.erasure.eventCount > 0 ? report.erasure.json : [:]) + [
      "withoutContent?": withoutContent.ifAny, "streams": report.streams, "forks": forks,
      "skipped": skipped, "erasureFailure?": report.erasureFailure, "peerDamage?": report.peerDamage,
      "unfinished?": unfinished, "clocksAhead": clocks,
      "clockAheadSeconds?": report.peerClockAheadMilliseconds.map { Int($0 / 1_000) },
      "folder?": report.folder.map(Self.json),
    ]
  }

  private static func json(_ amount: SyncReport.Amount) -> JSONObject {
    ["commits": amount.commits, "events?": amount.events, "bytes": amount.bytes]
  }

  private static func json(_ folder: SyncReport.FolderFiles) -> JSONObject {
    [
      "runs": folder.runs, "placeholders": folder.placeholders, "damaged": folder.damaged,
      "damagedNames?": folder.damaged > 0 ? folder.damagedNames : nil,
      "plain?": folder.plain.ifAny, "locked?": folder.locked.ifAny, "revoked?": folder.revoked.ifAny,
      "waiting": folder.waiting, "copies": folder.copies, "foreign": folder.foreign,
      "written": folder.written, "removed": folder.removed,
    ]
  }
}
