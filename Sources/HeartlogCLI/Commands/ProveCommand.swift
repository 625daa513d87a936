import Heartlog
import HeartlogFormat

/// `heartlog prove`: writes a file that proves an event, or a history, to anybody.
struct ProveCommand: Command {
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
    paragraphs: [
      "Writes a file that \"heartlog verify FILE\" checks with nothing but the file: who wrote the event, in which commit of its "
        + "stream, and which signed checkpoint covers it. The file contains no other event.",
      "With --between, the file shows that a device only added to its history: that what it had written up to the first event is "
        + "unchanged below the checkpoint that covers the second. In place of an event there may be a commit (3f9a12c0:c40), a kept "
        + "checkpoint, or an earlier proof, which stands for its checkpoint.",
      "An event of another device must be covered by a checkpoint of that device, which a sync brings.",
      "With --checkpoint, prints a checkpoint of this device: a C2SP tlog-checkpoint with its signature and those of the devices that "
        + "have seen it. Keep it, or give it to others: if the log is ever rewritten, a later checkpoint contradicts it. A sync signs by "
        + "itself.",
    ],
    examples: [
      .init("heartlog prove 3f9a12c0:42", "Prove an event."),
      .init(
        "heartlog prove --between 3f9a12c0:42 3f9a12c0:351", "Prove that nothing was changed up to event 42."),
      .init(
        "heartlog prove --between old.proof 3f9a12c0:351", "Prove that what an earlier proof had still holds."
      ),
      .init("heartlog prove --checkpoint > today.note", "Sign the log, and keep the checkpoint."),
    ],
    endings: [
      .init(
        .no,
        "There is no such event, its content is withheld, or nothing signed covers it; or there is nothing to sign."
      ),
      .init(.badInput, "The store is not what was signed, or FILE is not a proof."),
    ])

  /// Nil if a checkpoint is asked for.
  private let end: String?
  private let start: String?
  private let path: String?

  init(_ arguments: Arguments) throws(CommandError) {
    end = arguments.optionalText(Self.event)
    start = arguments.text(Self.between)
    path = arguments.text(Self.file)
    let isCheckpoint = arguments.has(Self.checkpoint)
    guard isCheckpoint != (end != nil) else {
      throw .usage(
        "prove needs an EVENT or --checkpoint",
        hint: "Usage: \(Self.description.usage.joined(separator: " "))")
    }
    guard !isCheckpoint || (start == nil && path == nil) else {
      throw .usage("--checkpoint cannot be used with --between or --output")
    }
    if let end, start == nil, Moment.event(end) == nil {
      throw .usage(
        "EVENT needs an event, not \(Quoted(end))",
        hint: "Write it as \"heartlog log\" shows it, like \(Moment.eventForm).")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    guard let end = try end.map(Place.init) else { return try checkpoint(context) }
    let start = try start.map(Place.init)
    let store = try context.openForProving()
    let proof: ProofFile
    if let start {
      proof = .history(
        try store.historyProof(from: try start.point(in: store), to: try end.point(in: store)))
    } else {
      guard case .event(let id) = try end.point(in: store) else { preconditionFailure("checked above") }
      proof = .event(try store.proof(of: id))
    }
    let path = path ?? ProofPage.name(of: proof)
    let bytes = proof.bytes
    try OutputFile.write(bytes, to: path)
    let page = ProofPage(proof)
    if context.isJSON {
      try context.jsonLine { json in
        json.member("file", path)
        json.member("bytes", bytes.count)
        page.write(to: &json)
      }
    } else {
      try context.output.line(
        "wrote \(DisplayText.visible(path)): \(Quantity.size(bytes: UInt64(bytes.count)))")
      try page.print(context)
    }
    return try context.report(store.findings)
  }

  private func checkpoint(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    guard let signed = try store.makeCheckpoint() else {
      throw CommandError(
        .no, "there is nothing to sign", hint: "This device has written nothing yet, or has no key.")
    }
    if context.isJSON {
      try context.jsonLine { json in
        json.member("replica", signed.checkpoint.replica.description)
        json.member("vault", signed.checkpoint.vault.description)
        json.member("commits", signed.checkpoint.size)
        json.member("root", signed.checkpoint.root.description)
        json.member("key", signed.key.description)
        json.member("fingerprint", signed.key.fingerprint.description)
        json.member("note", String(decoding: signed.note.bytes, as: UTF8.self))
      }
    } else {
      for line in String(decoding: signed.note.bytes, as: UTF8.self).dropLast().split(
        separator: "\n", omittingEmptySubsequences: false)
      {
        try context.output.line(String(line))
      }
    }
    try store.close()
    return try context.report(store.findings, includesTorn: true)
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
