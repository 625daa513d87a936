import Heartlog

/// `heartlog retire`: marks a device that will not come back.
struct RetireCommand: Command {
  private static let replica = Argument(
    "REPLICA", .required, .replica, "The first digits of the device's id, as \"heartlog replicas\" shows it.")

  static let description = CommandDescription(
    name: "retire", group: .devices, summary: "mark a device that will not come back",
    arguments: [replica],
    paragraphs: [
      "All devices that receive the mark show it. What the device wrote is kept. If it comes back after all, nothing is lost."
    ],
    examples: [.init("heartlog retire 9b04d1aa", "Retire a phone that was lost.")],
    endings: [.init(.no, "The replica does not exist, or is already retired.")])

  let prefix: String

  init(_ arguments: Arguments) throws(CommandError) {
    prefix = arguments.text(Self.replica).lowercased()
    guard !prefix.isEmpty, prefix.utf8.count <= 32, prefix.allSatisfy(\.isHexDigit) else {
      throw .usage(
        "\(Quoted(prefix)) is not the id of a replica",
        hint: "\"heartlog replicas\" lists them; the first digits are enough.")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let devices = store.devices
    let known = devices.map { ($0.replica, $0.name) }
    let lost = try store.lostReplicas().filter { replica in !known.contains { $0.0 == replica } }
    let replica = try Moment.replica(prefix, among: known + lost.map { ($0, "") })
    guard replica != store.replica else {
      throw CommandError(
        .usage, "a store cannot retire its own replica", hint: "Retire it from another device.")
    }
    let commit = try store.retireReturningCommit(replica)
    context.note(commit)
    let recoveries = store.findings
    try store.close()
    let code = try context.report(recoveries, includesTorn: true)
    let name = devices.first { $0.replica == replica }?.name ?? ""
    let shown = DisplayText.visible("\(replica.description.prefix(EventLine.prefixDigits)) \(name)")
    guard commit != nil else {
      throw CommandError(.no, "\(shown) is already retired", hint: "Nothing was written.")
    }
    if context.isJSON {
      try context.jsonLine { json in
        json.member("id", replica.description)
        json.member("isRetired", true)
      }
    } else {
      try context.output.line("retired: \(shown)")
    }
    return code
  }
}
