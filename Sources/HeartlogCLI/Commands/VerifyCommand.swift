import Heartlog
import HeartlogFormat

/// `heartlog verify`: checks every byte of the log against its checksums and hashes, or a proof with nothing but its file.
enum VerifyCommand: Command {
  private static let file = Argument(
    "FILE", .optional, .file,
    "A proof that \"heartlog prove\" wrote; - for standard input. Default: the store.")
  private static let key = Option.value(
    "key", "KEY", .text,
    "The key that must have signed the proof: a fingerprint or a public key (64 digits), a replica's id, or a verifier key."
  )

  static let description = CommandDescription(
    name: "verify", group: .check, summary: "check every byte of the log, or a proof",
    arguments: [file], options: [key],
    page: #"""
      Prints the number of commits and the root hash of each device's stream. Two stores that print the same root for a stream have the same
      history of it. Snapshots are also checked, and compared with the log.

      With FILE, checks every hash and every signature of a proof, and says what it proves. It needs no store. A valid proof shows what the
      owner of a key wrote. Whose key that is, the file cannot show: compare it with the fingerprint that "heartlog devices --keys" shows on
      that device, or give that as KEY.

      heartlog verify  # Check that nothing is damaged.
      heartlog verify 3f9a12c0-42.proof  # Check a proof.
      heartlog verify 3f9a12c0-42.proof --key 3f9a12c0d4e85b6791ac0f2b37de4c58  # Check also that this replica signed it.

      Exit code 1: The proof is valid, but another key than KEY signed it.
      Exit code 65: Something is damaged, and the message names the file, byte offset and commits; or FILE is not a valid proof.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let text = arguments.text(Self.key)
    let key = text.flatMap { KeyReference($0) }
    if let text, key == nil {
      throw CommandError.usage(
        "\(Quoted(text)) is not a key",
        hint:
          "A key has 64 hexadecimal digits, as its fingerprint has; a replica's id has 32. A verifier key is NAME+ID+BASE64."
      )
    }
    let path = arguments.optionalText(Self.file)
    try arguments.allow(Self.key, onlyWith: "a FILE", if: path != nil)
    return try path.map { try verify($0, signedWith: key, context) } ?? verifyStore(context)
  }

  private static func verify(
    _ path: String, signedWith key: KeyReference?, _ context: CommandContext
  ) throws -> ExitCode {
    let proof = try ProofFile.read(path)
    let isExpected = key.map { $0.matches(proof.checkpoint.key) }
    let valid: [String] =
      switch isExpected {
      case true?: [", and signed with the key that you gave"]
      case false?: []
      case nil: [" for the owner of this key: compare it with \"heartlog devices --keys\" on that device"]
      }
    try context.show(
      proof.json + (isExpected.map { ["isExpectedKey": $0] } ?? [:]),
      proof.lines(context) + valid.map { context.style(.good, "valid") + $0 })
    guard isExpected == false else { return .success }
    throw CommandError(
      .no, "the proof is valid, but another key signed it",
      hint: "It proves nothing of the replica whose key you gave.")
  }

  private static func verifyStore(_ context: CommandContext) throws -> ExitCode {
    let found = try context.verified()
    for stream in found.streams {
      try context.show(Self.json(stream), [Self.line(stream, context.style)])
    }
    for snapshot in found.snapshots {
      try context.show(Self.json(snapshot), [Self.line(snapshot, context.style)])
    }
    if found.streams.isEmpty, !context.isJSON {
      try context.output.line("the store is empty: nothing to verify")
    }
    try context.warnIfOpenToOthers()
    return try context.report(found)
  }

  private static func json(_ snapshot: SnapshotVerification) -> JSONObject {
    [
      "snapshot": snapshot.name, "events": snapshot.events, "isSound": snapshot.problem == nil,
      "isOfUse?": snapshot.isOfUse ? nil : false, "reason?": snapshot.problem,
    ]
  }

  private static func line(_ snapshot: SnapshotVerification, _ style: Style) -> String {
    let mark =
      snapshot.problem != nil
      ? style(.failure, "damaged") : snapshot.isOfUse ? style(.good, "sound  ") : style(.faint, "unused ")
    let problem = snapshot.problem.map { ": \($0)" } ?? ""
    return "\(mark)  snapshot of \(Quantity.count(snapshot.events, "event"))\(problem)\n  \(snapshot.name)"
  }

  private static func json(_ stream: StreamVerification) -> JSONObject {
    [
      "replica": stream.replica, "name": stream.name, "commits": stream.commits, "events": stream.events,
      "missingContents?": stream.missingContents.ifAny, "segments": stream.segments, "bytes": stream.bytes,
      "root": stream.root, "isSound": stream.isSound,
      "signedCommits": stream.checkpoint?.checkpoint.size ?? 0,
      "fingerprint?": stream.checkpoint?.key.fingerprint,
      "isTrusted?": stream.checkpoint == nil ? nil : stream.isTrusted,
      "partial?": stream.isSound ? nil : true, "finding?": stream.finding?.json,
    ]
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
    return "\(mark)  \(stream.replica.short)  "
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
    for stream in found.streams where stream.missingContents > 0 {
      warn(
        "the content of \(Quantity.count(stream.missingContents, "event")) of the device \(stream.replica) is missing, and no erasure "
          + "that has arrived explains it. \"heartlog repair --from PEER\" takes it from a device that has it."
      )
    }
    return damaged.isEmpty ? code : .badInput
  }
}

extension StreamVerification {
  /// Whether nothing that was acknowledged is damaged; a torn tail never was.
  var isSound: Bool { finding.map { $0.verdict == .torn } ?? true }
}
