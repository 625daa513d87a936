import Heartlog
import HeartlogProofs

/// `heartlog replicas`: lists the devices whose commits are in the store.
struct ReplicasCommand: Command {
  private static let keys = Option.flag(
    "keys", "Show each device's key: its fingerprint, what it last signed, and who has seen that.")

  static let description = CommandDescription(
    name: "replicas", group: .devices, summary: "list the devices whose commits are in the store",
    options: [keys],
    paragraphs: [
      "Shows each device's name, the number of its last commit, its number of events, and the time of its last write by its own "
        + "clock. A clock that is ahead is reported, by the device's own times. Its taps win over yours until you sync with it, so "
        + "set that clock right.",
      "\"signed\" is the number of commits that the device has signed. \"heartlog trust\" confirms a key.",
    ],
    examples: [
      .init("heartlog replicas", "List the devices."),
      .init("heartlog replicas --keys", "Show the fingerprints, to compare them."),
      .init("heartlog replicas --json", "Print them as JSON, with full ids."),
    ])

  let showsKeys: Bool

  init(_ arguments: Arguments) throws(CommandError) { showsKeys = arguments.has(Self.keys) }

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let devices = store.devices
    let signatures = try store.signatures()
    let isDamaged = try context.tellDamagedSubscription()
    let coverages = isDamaged ? [:] : try store.coverages()
    let now = StoreOptions().clock()
    if context.isJSON {
      for device in devices {
        try context.jsonLine {
          Self.write(device, signatures[device.replica], coverages[device.replica], to: &$0)
        }
      }
      try context.jsonPartial(store.findings)
      let code = try context.report(store.findings)
      return isDamaged ? .badInput : code
    }
    var table = Table([
      .init(title: "replica"), .init(title: "name", isFlexible: true),
      .init(title: "head", alignment: .right),
      .init(title: "signed", alignment: .right), .init(title: "events", alignment: .right),
      .init(title: "last write"), .init(isFlexible: true),
    ])
    for device in devices {
      table.add([
        .init(String(device.replica.description.prefix(EventLine.prefixDigits)), .name),
        .init(DisplayText.visible(device.name)), .init(Quantity.count(Int(clamping: device.head))),
        .init(
          signatures[device.replica].map { Quantity.count(Int(clamping: $0.checkpoint.checkpoint.size)) }
            ?? "–"),
        .init(Quantity.count(Int(clamping: device.events))),
        .init(device.lastSeen.map { context.times.text($0) } ?? "", .faint),
        .init(
          Self.remarks(device, coverages[device.replica], now: now, context).joined(separator: ", "), .faint),
      ])
    }
    try context.linesWithTimes(table.lines(style: context.style, width: context.width))
    if showsKeys {
      let names = Dictionary(uniqueKeysWithValues: devices.map { ($0.replica, $0.name) })
      for device in devices { try Self.showKey(of: device, signatures[device.replica], names, context) }
    }
    let code = try context.report(store.findings)
    return isDamaged ? .badInput : code
  }

  private static func showKey(
    of device: Device, _ signature: StreamSignature?, _ names: [ReplicaID: String], _ context: CommandContext
  ) throws {
    func shown(_ replica: ReplicaID) -> String {
      DisplayText.visible("\(replica.description.prefix(EventLine.prefixDigits)) \(names[replica] ?? "")")
    }
    try context.output.line("")
    try context.output.line(context.style(.name, shown(device.replica)))
    guard let signature else {
      return try context.output.line("  unsigned: it has no key, or has signed nothing yet")
    }
    let confirmed = device.isOwn ? "this device" : signature.isTrusted ? "confirmed" : "not confirmed"
    try context.output.line(
      "  key     \(Fingerprint.text(signature.checkpoint.key.fingerprint))  (\(confirmed))")
    try context.output.line(
      "  signed  \(Quantity.count(signature.checkpoint.checkpoint.size, "commit")), root \(signature.checkpoint.checkpoint.root)"
    )
    let witnesses = signature.witnesses.map(shown)
    try context.output.line(
      "  seen by \(witnesses.isEmpty ? "nobody yet" : witnesses.joined(separator: ", "))")
  }

  private static func remarks(
    _ device: Device, _ coverage: Coverage?, now: Milliseconds, _ context: CommandContext
  ) -> [String] {
    var remarks: [String] = []
    if device.isOwn { remarks.append("this device") }
    if device.isEnded { remarks.append("forked: its two histories continue as separate replicas") }
    if device.isRetired { remarks.append("retired") }
    if let coverage, let first = coverage.regions.first,
      case .only(let libraries) = coverage.librariesThroughout
    {
      let start = first.start.rawValue == 1 ? "" : " from commit \(first.start) on"
      let names = libraries.isEmpty ? "no content" : "only \(libraries.sorted().joined(separator: ", "))"
      remarks.append("\(names) here\(start)")
    }
    if device.wallClockAheadSeconds >= 1 {
      remarks.append("its clock is \(Quantity.duration(seconds: device.wallClockAheadSeconds)) ahead")
    } else if let latest = device.latestTime, latest > now {
      remarks.append("its clock was ahead, at \(context.times.text(latest)), and was set back")
    }
    return remarks
  }

  private static func write(
    _ device: Device, _ signature: StreamSignature?, _ coverage: Coverage?, to json: inout JSONWriter
  ) {
    json.member("id", device.replica.description)
    json.member("name", device.name)
    json.member("isOwn", device.isOwn)
    json.member("head", device.head)
    json.member("events", device.events)
    json.name("lastSeen")
    if let lastSeen = device.lastSeen { json.value(RFC3339.text(lastSeen)) } else { json.null() }
    json.name("latestTime")
    if let latest = device.latestTime { json.value(RFC3339.text(latest)) } else { json.null() }
    json.member("wallClockAheadSeconds", device.wallClockAheadSeconds)
    json.member("isRetired", device.isRetired)
    json.member("isEnded", device.isEnded)
    if let coverage, let first = coverage.regions.first,
      case .only(let libraries) = coverage.librariesThroughout
    {
      json.name("partial")
      json.beginObject()
      json.member("fromCommit", first.start.rawValue)
      json.member("libraries", strings: libraries.sorted())
      json.endObject()
    }
    json.name("signature")
    guard let signature else { return json.null() }
    json.beginObject()
    write(signature, to: &json)
    json.endObject()
  }

  private static func write(_ signature: StreamSignature, to json: inout JSONWriter) {
    json.member("commits", signature.checkpoint.checkpoint.size)
    json.member("root", signature.checkpoint.checkpoint.root.description)
    json.member("vault", signature.checkpoint.checkpoint.vault.description)
    json.member("fingerprint", signature.checkpoint.key.fingerprint.description)
    json.member("isTrusted", signature.isTrusted)
    json.name("witnesses")
    json.beginArray()
    for witness in signature.witnesses { json.value(witness.description) }
    json.endArray()
  }
}
