import Heartlog
import HeartlogFormat

/// Says what a proof shows, as JSON and as text.
struct ProofPage {
  let proof: ProofFile

  init(_ proof: ProofFile) { self.proof = proof }

  /// Reads and verifies a file.
  static func read(_ path: String) throws -> ProofFile {
    let bytes = try LineReader(path == "-" ? nil : path).rest()
    do { return try ProofFile(bytes) } catch {
      throw CommandError(.badInput, "\(Quoted(path)) proves nothing", at: error.reason)
    }
  }

  /// The name of the file for a proof: of the event, or of the two numbers of commits.
  static func name(of proof: ProofFile) -> String {
    switch proof {
    case .event(let proof): "\(prefix(proof.id.replica))-\(proof.id.sequence).proof"
    case .history(let proof):
      "\(prefix(proof.replica))-commits-\(proof.size)-\(proof.later.checkpoint.size).proof"
    case .fork(let proof): "\(prefix(proof.replica))-fork.proof"
    }
  }

  private static func prefix(_ replica: ReplicaID) -> Substring {
    replica.description.prefix(EventLine.prefixDigits)
  }

  private var checkpoint: WitnessedCheckpoint { proof.checkpoint }

  func write(to json: inout JSONWriter) {
    switch proof {
    case .event(let proof):
      json.member("proof", "event")
      json.name("event")
      json.beginObject()
      EventLine(commit: proof.commit, index: proof.index).write(to: &json)
      json.endObject()
    case .history(let proof):
      json.member("proof", "history")
      json.member("replica", proof.replica.description)
      json.member("commits", proof.size)
      json.member("root", proof.root.description)
      json.member("isSigned", proof.earlier != nil)
    case .fork(let proof):
      json.member("proof", "fork")
      json.member("replica", proof.replica.description)
      json.member("commits", proof.history.size)
      json.member("root", proof.history.root.description)
      json.member("signedRoot", proof.earlier.checkpoint.root.description)
    }
    json.member("key", checkpoint.key.description)
    json.member("fingerprint", checkpoint.key.fingerprint.description)
    json.name("checkpoint")
    json.beginObject()
    json.member("vault", checkpoint.checkpoint.vault.description)
    json.member("size", checkpoint.checkpoint.size)
    json.member("root", checkpoint.checkpoint.root.description)
    json.endObject()
    json.member("witnesses", objects: checkpoint.witnesses) { witness, json in
      json.member("replica", witness.key.replica.description)
      json.member("fingerprint", witness.key.fingerprint.description)
      json.name("time")
      if let time = Self.time(of: witness) { json.value(RFC3339.text(time)) } else { json.null() }
    }
  }

  /// The time of a witness; nil beyond the years that can be written.
  private static func time(of witness: WitnessedCheckpoint.Witness) -> Milliseconds? {
    witness.seconds <= UInt64(Limits.dateMillisecondsMax / 1_000)
      ? Milliseconds(witness.seconds) * 1_000 : nil
  }

  /// Prints what is proven, and of whom.
  func print(_ context: CommandContext) throws {
    let covered = "covered by its checkpoint of \(Quantity.count(checkpoint.checkpoint.size, "commit"))"
    var lines: [String] = []
    switch proof {
    case .event(let proof):
      var printer = EventPrinter(context)
      try printer.take(EventLine(commit: proof.commit, index: proof.index))
      try printer.flush()
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
      lines.append("witnessed by \(Self.prefix(witness.key.replica))\(time)")
    }
    lines.append("replica \(checkpoint.key.replica)")
    lines.append("key \(context.style(.faint, checkpoint.key.fingerprint.description))")
    for line in lines { try context.output.line("  \(line)") }
  }
}
