import Heartlog
import HeartlogProofs

/// `heartlog trust`: confirms the key of a device.
struct TrustCommand: Command {
  private static let replica = Argument(
    "REPLICA", .required, .replica, "The first digits of the device's id, as \"heartlog replicas\" shows it.")
  private static let fingerprint = Argument(
    "FINGERPRINT", .optional, .text,
    "The fingerprint that the device itself shows: 64 hexadecimal digits. Spaces and colons do not matter.")

  static let description = CommandDescription(
    name: "trust", group: .devices, summary: "confirm the key of a device",
    arguments: [replica, fingerprint],
    paragraphs: [
      "A device is known by its key from the first sync on. Whether it is the device that you think it is, only a comparison shows: "
        + "run \"heartlog replicas --keys\" on it, and give what it says about itself. Without FINGERPRINT you confirm that you have "
        + "compared it yourself. \"replicas\" and \"verify\" then show the key as confirmed."
    ],
    examples: [
      .init("heartlog trust 9b04d1aa", "Confirm a key that you have compared."),
      .init(
        "heartlog trust 9b04d1aa 9b04d1aa9f2e7c5d1b6a80343c2f5e6d7089a1b2c3d4e5f60718293a4b5c6d7e",
        "Let the command compare it."),
    ],
    endings: [
      .init(.no, "The replica does not exist, or has signed nothing yet."),
      .init(.badInput, "The key has another fingerprint: what is here was not signed by that device."),
    ])

  let prefix: String
  let fingerprint: Digest?

  init(_ arguments: Arguments) throws(CommandError) {
    prefix = arguments.text(Self.replica).lowercased()
    guard let text = arguments.optionalText(Self.fingerprint) else {
      fingerprint = nil
      return
    }
    guard let digest = Digest(text.filter { $0 != " " && $0 != ":" }) else {
      throw .usage(
        "a fingerprint has 64 hexadecimal digits",
        hint: "\"heartlog replicas --keys\" shows it on the device itself.")
    }
    fingerprint = digest
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let devices = store.devices
    let replica = try Moment.replica(prefix, among: devices.map { ($0.replica, $0.name) })
    let fingerprint = try store.trust(replica, fingerprint: fingerprint)
    try store.close()
    if context.isJSON {
      try context.jsonLine { json in
        json.member("id", replica.description)
        json.member("fingerprint", fingerprint.description)
        json.member("isTrusted", true)
      }
    } else {
      let name = devices.first { $0.replica == replica }?.name ?? ""
      try context.output.line(
        DisplayText.visible("trusted: \(replica.description.prefix(EventLine.prefixDigits)) \(name)"))
      try context.output.line("  \(Fingerprint.text(fingerprint))")
    }
    return .success
  }
}

/// A fingerprint as people compare it: in groups of four digits.
enum Fingerprint {
  static func text(_ fingerprint: Digest) -> String {
    let digits = Array(fingerprint.description)
    return stride(from: 0, to: digits.count, by: 4).map { String(digits[$0..<$0 + 4]) }.joined(separator: " ")
  }
}
