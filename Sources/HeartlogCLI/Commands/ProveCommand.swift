import Heartlog
import HeartlogProofs

/// `heartlog prove`: writes a file that proves an event, or a history, to anybody.
struct ProveCommand: Command {
  private static let event = Argument(
    "EVENT", .required, .text, "The event to prove; with --between, where the history ends.")
  private static let between = Option.value(
    "between", "EVENT", .text, "Prove that the history up to this event is unchanged in a later checkpoint.")
  private static let file = Option.value(
    "output", short: "o", "FILE", .file,
    "The file to write. Default: a name made from the events, in this folder.")

  static let description = CommandDescription(
    name: "prove", group: .check, summary: "prove an event, or a history, to anybody",
    arguments: [event], options: [between, file],
    paragraphs: [
      "Writes a file that \"heartlog verify-proof\" checks with nothing but the file: who wrote the event, in which commit of its "
        + "stream, and which signed checkpoint covers it. The file contains no other event.",
      "With --between, the file shows that a device only added to its history: that what it had written up to the first event is "
        + "unchanged below the checkpoint that covers the second. In place of an event there may be a commit (3f9a12c0:c40), a kept "
        + "checkpoint, or an earlier proof, which stands for its checkpoint.",
      "An event of another device must be covered by a checkpoint of that device, which a sync brings.",
    ],
    examples: [
      .init("heartlog prove 3f9a12c0:42", "Prove an event."),
      .init(
        "heartlog prove --between 3f9a12c0:42 3f9a12c0:351", "Prove that nothing was changed up to event 42."),
      .init(
        "heartlog prove --between old.proof 3f9a12c0:351", "Prove that what an earlier proof had still holds."
      ),
    ],
    endings: [
      .init(.no, "There is no such event, its content is withheld, or nothing signed covers it."),
      .init(.badInput, "The store is not what was signed, or FILE is not a proof."),
    ])

  let end: String
  let start: String?
  let path: String?

  init(_ arguments: Arguments) throws(CommandError) {
    end = arguments.text(Self.event)
    start = arguments.text(Self.between)
    path = arguments.text(Self.file)
    if start == nil, Moment.event(end) == nil {
      throw .usage(
        "EVENT needs an event, not \(Quoted(end))",
        hint: "Write it as \"heartlog log\" shows it, like \(Moment.eventForm).")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let end = try Place(end)
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
