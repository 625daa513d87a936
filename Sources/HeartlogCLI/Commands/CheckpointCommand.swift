import Heartlog
import HeartlogProofs

/// `heartlog checkpoint`: signs this device's stream.
struct CheckpointCommand: Command {
  static let description = CommandDescription(
    name: "checkpoint", group: .check, summary: "sign how far this device's log has come",
    paragraphs: [
      "Prints the checkpoint: a C2SP tlog-checkpoint with the signature of this device and those of the devices that have seen it. "
        + "Keep it, or give it to others: if the log is ever rewritten, a later checkpoint contradicts it. A sync signs by itself."
    ],
    examples: [
      .init("heartlog checkpoint", "Sign the log, and print the checkpoint."),
      .init("heartlog checkpoint > today.note", "Keep it."),
    ],
    endings: [.init(.no, "There is nothing to sign: this device has written nothing yet, or has no key.")])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
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
