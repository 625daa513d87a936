import Heartlog
import HeartlogProofs

/// `heartlog evidence`: lists the proofs that a device signed two histories.
struct EvidenceCommand: Command {
  static let description = CommandDescription(
    name: "evidence", group: .check, summary: "list the devices that signed two histories",
    paragraphs: [
      "If one key signed two histories, its folder was copied together with the key, or its past was rewritten. The next sync with "
        + "anyone who has seen the other history finds it, and keeps a proof: both signed checkpoints, and that they contradict each "
        + "other. Anybody can check the file with \"heartlog verify-proof\", without a store."
    ],
    examples: [
      .init("heartlog evidence", "List what was found."),
      .init("heartlog evidence --json", "Print it as JSON, with both signed notes."),
    ],
    endings: [
      .init(.no, "There is no evidence."),
      .init(.badInput, "A file of evidence is damaged; the others were listed."),
    ])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let names = Dictionary(
      store.devices.map { ($0.replica, $0.name) }, uniquingKeysWith: { first, _ in first })
    let evidence = try store.evidence()
    for (file, proof) in evidence {
      guard let proof else {
        context.warn(
          "\(DisplayText.visible(file)) is damaged.")
        continue
      }
      if context.isJSON {
        try context.jsonLine { Self.write(proof, file, to: &$0) }
      } else {
        try Self.show(proof, file, names[proof.replica] ?? "", context)
      }
    }
    if evidence.isEmpty {
      if !context.isJSON {
        try context.output.line("no device signed two histories, as far as this store has seen")
      }
      return .no
    }
    return evidence.contains { $0.proof == nil } ? .badInput : .success
  }

  private static func show(
    _ proof: ForkProof, _ file: String, _ name: String, _ context: CommandContext
  ) throws {
    let id = proof.replica.description.prefix(EventLine.prefixDigits)
    try context.output.line(context.style(.name, DisplayText.visible("\(id) \(name)")))
    let (earlier, later) = (proof.earlier.checkpoint, proof.later.checkpoint)
    try context.output.line(
      "  signed \(Quantity.count(earlier.size, "commit")) with the root \(earlier.root)")
    if later.size == earlier.size {
      try context.output.line("  and as many with the root \(later.root)")
    } else {
      try context.output.line("  and \(Quantity.count(later.size, "commit")) with the root \(later.root),")
      try context.output.line("  of which the first \(earlier.size) have the root \(proof.history.root)")
    }
    try context.output.line("  \(DisplayText.visible(file))")
  }

  private static func write(_ proof: ForkProof, _ file: String, to json: inout JSONWriter) {
    json.member("replica", proof.replica.description)
    json.member("fingerprint", proof.later.key.fingerprint.description)
    json.member("file", file)
    for (name, checkpoint) in [("earlier", proof.earlier), ("later", proof.later)] {
      json.name(name)
      json.beginObject()
      json.member("commits", checkpoint.checkpoint.size)
      json.member("root", checkpoint.checkpoint.root.description)
      json.member("note", String(decoding: checkpoint.signed.note.bytes, as: UTF8.self))
      json.endObject()
    }
    json.member("rootOfLaterHistory", proof.history.root.description)
  }
}
