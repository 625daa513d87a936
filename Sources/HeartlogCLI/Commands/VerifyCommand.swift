import Heartlog
import HeartlogProofs

/// `heartlog verify`: checks every byte of the log against its checksums and hashes.
struct VerifyCommand: Command {
  static let description = CommandDescription(
    name: "verify", group: .check, summary: "check every byte of the log",
    paragraphs: [
      "Prints the number of commits and the root hash of each device's stream. Two stores that print the same root for a stream "
        + "have the same history of it. Snapshots are also checked, and compared with the log."
    ],
    examples: [.init("heartlog verify", "Check that nothing is damaged.")],
    endings: [.init(.badInput, "Something is damaged; the message names the file, byte offset and commits.")])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    let found = try context.verified()
    for stream in found.streams {
      if context.isJSON {
        try context.jsonLine { Self.write(stream, to: &$0) }
      } else {
        try context.output.line(Self.line(stream, context.style))
      }
    }
    for snapshot in found.snapshots {
      if context.isJSON {
        try context.jsonLine { Self.write(snapshot, to: &$0) }
      } else {
        try context.output.line(Self.line(snapshot, context.style))
      }
    }
    if found.streams.isEmpty, !context.isJSON {
      try context.output.line("the store is empty: nothing to verify")
    }
    try context.tellIfOpenToOthers()
    return try context.report(found)
  }

  private static func write(_ snapshot: SnapshotVerification, to json: inout JSONWriter) {
    json.member("snapshot", snapshot.name)
    json.member("events", snapshot.events)
    json.member("isSound", snapshot.problem == nil)
    if !snapshot.isOfUse { json.member("isOfUse", false) }
    if let problem = snapshot.problem { json.member("reason", problem) }
  }

  private static func line(_ snapshot: SnapshotVerification, _ style: Style) -> String {
    let mark =
      snapshot.problem != nil
      ? style(.failure, "damaged") : snapshot.isOfUse ? style(.good, "sound  ") : style(.faint, "unused ")
    let problem = snapshot.problem.map { ": \($0)" } ?? ""
    return "\(mark)  snapshot of \(Quantity.count(snapshot.events, "event"))\(problem)\n  \(snapshot.name)"
  }

  private static func write(_ stream: StreamVerification, to json: inout JSONWriter) {
    json.member("replica", stream.replica.description)
    json.member("name", stream.name)
    json.member("commits", stream.commits)
    json.member("events", stream.events)
    json.member("segments", stream.segments)
    json.member("bytes", stream.bytes)
    json.member("root", stream.root.description)
    json.member("isSound", stream.isSound)
    json.member("signedCommits", stream.checkpoint?.checkpoint.size ?? 0)
    if let checkpoint = stream.checkpoint {
      json.member("fingerprint", checkpoint.key.fingerprint.description)
      json.member("isTrusted", stream.isTrusted)
    }
    if let finding = stream.finding {
      if finding.verdict != .torn { json.member("partial", true) }
      json.name("finding")
      json.finding(finding)
    }
  }

  /// How much of a stream its device has signed.
  private static func signed(_ stream: StreamVerification) -> String {
    guard let checkpoint = stream.checkpoint else { return stream.isOwn ? "not signed yet" : "unsigned" }
    let later = stream.commits - checkpoint.checkpoint.size
    let key = stream.isOwn ? "" : stream.isTrusted ? "; key confirmed" : "; key not confirmed"
    return later == 0
      ? "signed\(key)"
      : "signed up to commit \(checkpoint.checkpoint.size), not yet \(Quantity.count(later, "later commit"))\(key)"
  }

  private static func line(_ stream: StreamVerification, _ style: Style) -> String {
    let mark = stream.isSound ? style(.good, "sound  ") : style(.failure, "damaged")
    let name = DisplayText.visible(stream.name)
    return "\(mark)  \(stream.replica.description.prefix(EventLine.prefixDigits))  "
      + "\(name.isEmpty ? "" : name + "  ")\(Quantity.count(stream.commits, "commit")), \(Quantity.count(stream.events, "event")), "
      + "\(Quantity.size(bytes: stream.bytes))\n  root \(style(.faint, stream.root.description))\n"
      + "  \(signed(stream))"
  }
}

extension CommandContext {
  /// Verifies the store.
  func verified() throws -> StoreVerification {
    let directory = try storeDirectory()
    return try withByteProgress("verifying") { progress in
      try reading { try FavoritesStore.verify(at: directory, progress: progress) }
    }
  }

  /// Reports what a verification found, and other findings.
  ///
  /// - Returns: the exit code: 65 if anything is damaged.
  func report(_ found: StoreVerification, and others: [Finding] = []) throws -> ExitCode {
    let code = try report(found.streams.compactMap(\.finding).union(others), includesTorn: true)
    let damaged = found.snapshots.filter { $0.problem != nil }
    if !damaged.isEmpty {
      warn(
        "\(Quantity.count(damaged.count, "snapshot")) damaged. The log does not need snapshots. "
          + "If a snapshot differs from the log, one of the two was changed: compare with another device before you remove it from the folder \"snapshots\"."
      )
    }
    if let problem = found.subscriptionProblem {
      warn("damaged: \(problem.description).")
    }
    return damaged.isEmpty && found.subscriptionProblem == nil ? code : .badInput
  }
}

extension StreamVerification {
  /// An unfinished batch at the tail was never acknowledged: it is not damage.
  var isSound: Bool { finding.map { $0.verdict == .torn } ?? true }
}
