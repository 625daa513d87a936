import Heartlog
import HeartlogFormat

/// `heartlog prove`: writes a file that proves an event, or a history, to anybody.
enum ProveCommand: Command {
  private static let event = Argument(
    "EVENT", .optional, .text, "The event to prove; with --between, where the history ends.")
  private static let checkpoint = Option.flag(
    "checkpoint", "Sign how far this device's log has come, and print the checkpoint.")
  private static let between = Option.value(
    "between", "EVENT", .text, "Prove that the history up to this event is unchanged in a later checkpoint.")
  private static let file = Option.value(
    "output", short: "o", "FILE", .file,
    "The file to write. Default: a name made from the events, in this folder.")

  static let description = CommandDescription(
    name: "prove", group: .check, summary: "prove an event, or a history, to anybody",
    arguments: [event], options: [between, checkpoint, file],
    page: #"""
      Writes a file that "heartlog verify FILE" checks with nothing but the file: who wrote the event, in which commit of its stream, and which
      signed checkpoint covers it. The file contains no other event.

      With --between, the file shows that a device only added to its history: that what it had written up to the first event is unchanged below
      the checkpoint that covers the second. In place of an event there may be a commit (3f9a12c0:c40), a kept checkpoint, or an earlier proof,
      which stands for its checkpoint.

      An event of another device must be covered by a checkpoint of that device, which a sync brings.

      With --checkpoint, prints a checkpoint of this device: a C2SP tlog-checkpoint with its signature and those of the devices that have seen
      it. Keep it, or give it to others: if the log is ever rewritten, a later checkpoint contradicts it. A sync signs by itself.

      heartlog prove 3f9a12c0:42  # Prove an event.
      heartlog prove --between 3f9a12c0:42 3f9a12c0:351  # Prove that nothing was changed up to event 42.
      heartlog prove --between old.proof 3f9a12c0:351  # Prove that what an earlier proof had still holds.
      heartlog prove --checkpoint > today.note  # Sign the log, and keep the checkpoint.

      Exit code 1: There is no such event, its content is withheld, or nothing signed covers it; or there is nothing to sign.
      Exit code 65: The store is not what was signed, or FILE is not a proof.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let (text, between) = (arguments.optionalText(Self.event), arguments.text(Self.between))
    guard arguments.has(Self.checkpoint) != (text != nil) else {
      throw misused("prove needs an EVENT or --checkpoint")
    }
    try arguments.refuse(Self.checkpoint, with: Self.between, Self.file)
    guard let text else { return try checkpoint(context) }
    if between == nil { try ValueKind.event.check(text, label: Self.event.name, clock: context.clock) }
    let end = try Place(text)
    let start = try between.map(Place.init)
    let store = try context.openForProving()
    let proof: ProofFile
    if let start {
      proof = .history(
        try store.historyProof(from: try start.point(in: store), to: try end.point(in: store)))
    } else {
      guard case .event(let id) = try end.point(in: store) else { preconditionFailure("checked above") }
      proof = .event(try store.eventProof(of: id))
    }
    let path = arguments.text(Self.file) ?? proof.name
    let bytes = proof.bytes
    try OutputFile.write(bytes, to: path)
    try context.show(
      ["file": path, "bytes": bytes.count] + proof.json,
      ["wrote \(DisplayText.visible(path)): \(Quantity.size(bytes: UInt64(bytes.count)))"]
        + proof.lines(context))
    return try context.report(store.findings)
  }

  private static func checkpoint(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    guard let signed = try store.makeCheckpoint() else {
      throw CommandError(
        .no, "there is nothing to sign", hint: "This device has written nothing yet, or has no key.")
    }
    let note = String(decoding: signed.note.bytes, as: UTF8.self)
    try context.show(
      [
        "replica": signed.checkpoint.replica, "vault": signed.checkpoint.vault,
        "commits": signed.checkpoint.size, "root": signed.checkpoint.root, "key": signed.key,
        "fingerprint": signed.key.fingerprint, "note": note,
      ], note.dropLast().split(separator: "\n", omittingEmptySubsequences: false).map(String.init))
    return try context.close(store)
  }
}

/// An event, a commit, or a file whose checkpoint is meant.
private enum Place {
  case position(Moment)
  case file([UInt8], path: String)

  init(_ text: String) throws {
    if let position = Moment.event(text) ?? Moment.commit(text) {
      self = .position(position)
    } else {
      self = .file(try LineReader(text).rest(), path: text)
    }
  }

  func point(in store: FavoritesStore) throws -> HistoryPoint {
    switch self {
    case .position(let position):
      switch try position.resolved(in: store) {
      case .event(let id): return .event(id)
      case .commit(let replica, let number): return .commit(replica, number)
      case .milliseconds: preconditionFailure("a position is not a time")
      }
    case .file(let bytes, let path):
      if let proof = try? ProofFile(bytes) { return .checkpoint(proof.checkpoint) }
      do { return .checkpoint(try store.checkpoint(note: bytes)) } catch {
        guard error.code == .invalid else { throw error }
        throw CommandError(
          .badInput, "\(Quoted(path)) is neither a proof nor a checkpoint", at: error.message)
      }
    }
  }
}

extension ProofFile {
  /// Reads and verifies a file.
  static func read(_ path: String) throws -> ProofFile {
    let bytes = try LineReader(path == "-" ? nil : path).rest()
    do { return try ProofFile(bytes) } catch {
      throw CommandError(.badInput, "\(Quoted(path)) proves nothing", at: error.reason)
    }
  }

  /// The name of the file for a proof: of the event, or of the two numbers of commits.
  var name: String {
    switch self {
    case .event(let proof): "\(proof.id.replica.short)-\(proof.id.sequence).proof"
    case .history(let proof):
      "\(proof.replica.short)-commits-\(proof.size)-\(proof.later.checkpoint.size).proof"
    case .fork(let proof): "\(proof.replica.short)-fork.proof"
    }
  }

  var json: JSONObject {
    let shown: JSONObject =
      switch self {
      case .event(let proof):
        ["proof": "event", "event": EventLine(commit: proof.commit, index: proof.index).json]
      case .history(let proof):
        [
          "proof": "history", "replica": proof.replica, "commits": proof.size, "root": proof.root,
          "isSigned": proof.earlier != nil,
        ]
      case .fork(let proof):
        [
          "proof": "fork", "replica": proof.replica, "commits": proof.history.size,
          "root": proof.history.root, "signedRoot": proof.earlier.checkpoint.root,
        ]
      }
    let (key, signed) = (checkpoint.key, checkpoint.checkpoint)
    return shown + [
      "key": key, "fingerprint": key.fingerprint,
      "checkpoint": ["vault": signed.vault, "size": signed.size, "root": signed.root] as JSONObject,
      "witnesses": checkpoint.witnesses.map { witness -> JSONObject in
        [
          "replica": witness.key.replica, "fingerprint": witness.key.fingerprint,
          "time": RFC3339.text(Self.time(of: witness)),
        ]
      },
    ]
  }

  /// The time of a witness; nil beyond the years that can be written.
  private static func time(of witness: WitnessedCheckpoint.Witness) -> Milliseconds? {
    witness.seconds <= UInt64(Limits.dateMillisecondsMax / 1_000)
      ? Milliseconds(witness.seconds) * 1_000 : nil
  }

  /// What is proven, and of whom.
  func lines(_ context: CommandContext) -> [String] {
    let covered = "covered by its checkpoint of \(Quantity.count(checkpoint.checkpoint.size, "commit"))"
    var event: [EventLine] = []
    var lines: [String] = []
    switch self {
    case .event(let proof):
      event = [EventLine(commit: proof.commit, index: proof.index)]
      let events = proof.commit.eventCount
      let part = events == 1 ? "" : "event \(proof.index + 1) of \(Quantity.count(events)) in "
      lines.append("\(part)commit \(Quantity.count(proof.commit.number.rawValue)) of its replica, \(covered)")
    case .history(let proof):
      lines.append("the first \(Quantity.count(proof.size, "commit")) of a replica are unchanged, \(covered)")
      if proof.earlier == nil { lines.append("before: root \(proof.root), to be compared") }
    case .fork(let proof):
      lines.append(
        "its owner signed two histories: \(covered), of which the first \(Quantity.count(proof.history.size))"
      )
      lines.append("have the root \(proof.history.root), and signed that as many have")
      lines.append("the root \(proof.earlier.checkpoint.root)")
    }
    for witness in checkpoint.witnesses {
      let time = Self.time(of: witness).map { " at \(context.times.text($0)) by its clock" } ?? ""
      lines.append("witnessed by \(witness.key.replica.short)\(time)")
    }
    lines.append("replica \(checkpoint.key.replica)")
    lines.append("key \(context.style(.faint, checkpoint.key.fingerprint.description))")
    return context.lines(event) + lines.map { "  \($0)" }
  }
}
