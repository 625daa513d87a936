import Heartlog

/// `heartlog replicas`: lists the devices whose commits are in the store.
struct ReplicasCommand: Command {
  static let description = CommandDescription(
    name: "replicas", group: .devices, summary: "list the devices whose commits are in the store",
    paragraphs: [
      "Shows each device's name, the number of its last commit, its number of events, and the time of its last write by its own "
        + "clock. A clock that is ahead is reported, by the device's own times. Its taps win over yours until you sync with it, so "
        + "set that clock right."
    ],
    examples: [
      .init("heartlog replicas", "List the devices."),
      .init("heartlog replicas --json", "Print them as JSON, with full ids."),
    ])

  init(_ arguments: Arguments) throws(CommandError) {}

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let devices = store.devices
    let now = StoreOptions().clock()
    if context.isJSON {
      for device in devices { try context.jsonLine { Self.write(device, to: &$0) } }
      try context.jsonPartial(store.findings)
      return try context.report(store.findings)
    }
    var table = Table([
      .init(title: "replica"), .init(title: "name", isFlexible: true),
      .init(title: "head", alignment: .right),
      .init(title: "events", alignment: .right), .init(title: "last write"), .init(isFlexible: true),
    ])
    for device in devices {
      table.add([
        .init(String(device.replica.description.prefix(EventLine.prefixDigits)), .name),
        .init(DisplayText.visible(device.name)), .init(Quantity.count(Int(clamping: device.head))),
        .init(Quantity.count(Int(clamping: device.events))),
        .init(device.lastSeen.map { context.times.text($0) } ?? "", .faint),
        .init(Self.remarks(device, now: now, context).joined(separator: ", "), .faint),
      ])
    }
    try context.linesWithTimes(table.lines(style: context.style, width: context.width))
    return try context.report(store.findings)
  }

  private static func remarks(_ device: Device, now: Milliseconds, _ context: CommandContext) -> [String] {
    var remarks: [String] = []
    if device.isOwn { remarks.append("this device") }
    if device.isEnded { remarks.append("forked: its two histories continue as separate replicas") }
    if device.isRetired { remarks.append("retired") }
    if device.wallClockAheadSeconds >= 1 {
      remarks.append("its clock is \(Quantity.duration(seconds: device.wallClockAheadSeconds)) ahead")
    } else if let latest = device.latestTime, latest > now {
      remarks.append("its clock was ahead, at \(context.times.text(latest)), and was set back")
    }
    return remarks
  }

  private static func write(_ device: Device, to json: inout JSONWriter) {
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
  }
}
