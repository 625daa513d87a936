import Heartlog
import HeartlogProofs

/// `heartlog verify-proof`: checks a proof with nothing but its file.
struct VerifyProofCommand: Command {
  private static let file = Argument("FILE", .required, .file, "The proof; - for standard input.")
  private static let key = Option.value(
    "key", "KEY", .text,
    "The key that must have signed: a fingerprint or a public key (64 digits), a replica's id, or a verifier key."
  )

  static let description = CommandDescription(
    name: "verify-proof", group: .check, summary: "check a proof with nothing but its file",
    arguments: [file], options: [key],
    paragraphs: [
      "Checks every hash and every signature of a file that \"heartlog prove\" wrote, and says what it proves. It needs no store.",
      "A valid proof shows what the owner of a key wrote. Whose key that is, the file cannot show: compare it with the fingerprint "
        + "that \"heartlog replicas --keys\" shows on that device, or give that as KEY.",
    ],
    examples: [
      .init("heartlog verify-proof 3f9a12c0-42.proof", "Check a proof."),
      .init(
        "heartlog verify-proof 3f9a12c0-42.proof --key 3f9a12c0d4e85b6791ac0f2b37de4c58",
        "Check also that this replica signed it."),
    ],
    endings: [
      .init(.no, "The proof is valid, but another key than KEY signed it."),
      .init(.badInput, "The file is not a valid proof."),
    ])

  let path: String
  let key: KeyReference?

  init(_ arguments: Arguments) throws(CommandError) {
    path = arguments.text(Self.file)
    guard let text = arguments.text(Self.key) else {
      key = nil
      return
    }
    guard let key = KeyReference(text) else {
      throw .usage(
        "\(Quoted(text)) is not a key",
        hint:
          "A key has 64 hexadecimal digits, as its fingerprint has; a replica's id has 32. A verifier key is NAME+ID+BASE64."
      )
    }
    self.key = key
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let proof = try ProofPage.read(path)
    let page = ProofPage(proof)
    let isExpected = key.map { $0.matches(proof.checkpoint.key) }
    if context.isJSON {
      try context.jsonLine { json in
        page.write(to: &json)
        if let isExpected { json.member("isExpectedKey", isExpected) }
      }
    } else {
      try page.print(context)
      let valid = context.style(.good, "valid")
      switch isExpected {
      case true?: try context.output.line("\(valid), and signed with the key that you gave")
      case false?: break
      case nil:
        try context.output.line(
          "\(valid) for the owner of this key: compare it with \"heartlog replicas --keys\" on that device")
      }
    }
    guard isExpected == false else { return .success }
    throw CommandError(
      .no, "the proof is valid, but another key signed it",
      hint: "It proves nothing of the replica whose key you gave.")
  }
}
