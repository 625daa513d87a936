import Heartlog
import HeartlogFormat

/// `heartlog devices`: lists the devices whose commits are in the store, confirms their keys, retires them, and shows their forks and the
/// versions of the item types that they run.
struct DevicesCommand: Command {
  private enum Action: String, CaseIterable {
    case list
    case trust
    case retire
    case forks
    case schemas
  }

  private static let action = Argument(
    "ACTION", .optional, .choice(Action.allCases.map(\.rawValue)),
    "list the devices (the default); trust: confirm the key of one; retire one; forks: list those that signed two histories; "
      + "schemas: show which versions of item types they run.")
  private static let subject = Argument(
    "DEVICE", form: "DEVICE|LIBRARY", .optional, .replica,
    "For trust and retire, the first digits of the device's id, or its name. For schemas, show only this library."
  )
  private static let fingerprint = Argument(
    "FINGERPRINT", .optional, .text,
    "For trust, the fingerprint that the device itself shows: 64 hexadecimal digits. Spaces and colons do not matter."
  )
  private static let keys = Option.flag(
    "keys", "Show each device's key: its fingerprint, what it last signed, and who has seen that.")

  static let description = CommandDescription(
    name: "devices", group: .devices, summary: "list, trust and retire devices; show forks and schemas",
    arguments: [action, subject, fingerprint], options: [keys],
    paragraphs: [
      "\"list\" shows each device's name, the number of its last commit, its number of events, and the time of its last write by its own "
        + "clock. A clock that is ahead is reported, by the device's own times. Its taps win over yours until you sync with it, so "
        + "set that clock right. \"signed\" is the number of commits that the device has signed.",
      "\"trust\" confirms the key of a device. A device is known by its key from the first sync on. Whether it is the device that you "
        + "think it is, only a comparison shows: run \"heartlog devices --keys\" on it, and give what it says about itself. Without "
        + "FINGERPRINT you confirm that you have compared it yourself.",
      "\"retire\" marks a device that will not come back. All devices that receive the mark show it. What the device wrote is kept. If it "
        + "comes back after all, nothing is lost.",
      "\"forks\" lists the proofs that a device signed two histories: its folder was copied together with the key, or its past was "
        + "rewritten. The next sync with anyone who has seen the other history finds it, and keeps both signed checkpoints. Anybody can "
        + "check the file with \"heartlog verify FILE\", without a store.",
      "\"schemas\" shows which device runs which version of a library's item type. An app announces the version with the first write that it "
        + "makes with it; a device without an announcement counts as version 1. \"old names\" are the fields that newer versions also "
        + "write under an older name because this device needs it. It no longer does once it announces a newer version, or is retired.",
    ],
    examples: [
      .init("heartlog devices", "List the devices."),
      .init("heartlog devices --keys", "Show the fingerprints, to compare them."),
      .init("heartlog devices trust 9b04d1aa", "Confirm a key that you have compared."),
      .init("heartlog devices retire 9b04d1aa", "Retire a phone that was lost."),
      .init("heartlog devices schemas trips --json", "Print who runs which version of a library as JSON."),
    ],
    endings: [
      .init(
        .no, "The device does not exist, has signed nothing, or is already retired; or there is no fork."),
      .init(
        .badInput,
        "The key has another fingerprint: what is here was not signed by that device. Or a file of evidence is damaged."
      ),
    ])

  private let action: Action
  private let subject: String?
  private let fingerprint: Digest?
  private let showsKeys: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    action = arguments.optionalText(Self.action).flatMap(Action.init) ?? .list
    subject = arguments.optionalText(Self.subject)
    showsKeys = arguments.has(Self.keys)
    let usage = "Usage: \(Self.description.usage.joined(separator: " "))"
    switch action {
    case .trust, .retire:
      guard subject != nil else { throw .usage("devices \(action.rawValue) needs a DEVICE", hint: usage) }
    case .schemas:
      if let subject { try ValueKind.checkLibrary(subject) }
    case .list, .forks:
      guard subject == nil else { throw .usage("devices \(action.rawValue) takes no DEVICE", hint: usage) }
    }
    guard !showsKeys || action == .list else {
      throw .usage("--keys can be used with devices list only", hint: usage)
    }
    guard let text = arguments.optionalText(Self.fingerprint) else {
      fingerprint = nil
      return
    }
    guard action == .trust else {
      throw .usage("devices \(action.rawValue) takes no FINGERPRINT", hint: usage)
    }
    guard let digest = Digest(text.filter { $0 != " " && $0 != ":" }) else {
      throw .usage(
        "a fingerprint has 64 hexadecimal digits",
        hint: "\"heartlog devices --keys\" shows it on the device itself.")
    }
    fingerprint = digest
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    switch action {
    case .list: try list(context)
    case .trust: try trust(context)
    case .retire: try retire(context)
    case .forks: try DeviceForks.run(context)
    case .schemas: try DeviceSchemas(library: subject).run(context)
    }
  }

  private func list(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let devices = store.devices
    let signatures = try store.signatures()
    let now = StoreOptions().clock()
    // People compare it before the device has written or signed anything.
    let ownKey = try store.deviceKey?.publicKey
    if context.isJSON {
      for device in devices {
        try context.jsonLine {
          Self.write(device, signatures[device.replica], ownKey: device.isOwn ? ownKey : nil, to: &$0)
        }
      }
      try context.jsonPartial(store.findings)
      return try context.report(store.findings)
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
        .init(Self.remarks(device, now: now, context).joined(separator: ", "), .faint),
      ])
    }
    try context.linesWithTimes(table.lines(style: context.style, width: context.width))
    if showsKeys {
      let names = Dictionary(uniqueKeysWithValues: devices.map { ($0.replica, $0.name) })
      for device in devices {
        try Self.showKey(
          of: device, signatures[device.replica], ownKey: device.isOwn ? ownKey : nil, names, context)
      }
    }
    return try context.report(store.findings)
  }

  private static func showKey(
    of device: Device, _ signature: StreamSignature?, ownKey: PublicKey?, _ names: [ReplicaID: String],
    _ context: CommandContext
  ) throws {
    func shown(_ replica: ReplicaID) -> String {
      DisplayText.visible("\(replica.description.prefix(EventLine.prefixDigits)) \(names[replica] ?? "")")
    }
    try context.output.line("")
    try context.output.line(context.style(.name, shown(device.replica)))
    guard let signature else {
      if let ownKey {
        try context.output.line("  key     \(Fingerprint.text(ownKey.fingerprint))  (this device)")
      }
      return try context.output.line(
        ownKey == nil ? "  unsigned: it has no key, or has signed nothing yet" : "  nothing signed yet")
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
    _ device: Device, now: Milliseconds, _ context: CommandContext
  ) -> [String] {
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

  private static func write(
    _ device: Device, _ signature: StreamSignature?, ownKey: PublicKey?,
    to json: inout JSONWriter
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
    if signature == nil, let ownKey { json.member("fingerprint", ownKey.fingerprint.description) }
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

  /// The device that the command line names.
  private func chosen(in store: FavoritesStore) throws -> (replica: ReplicaID, shown: String) {
    let devices = store.devices
    let lost = try store.lostReplicas().filter { replica in !devices.contains { $0.replica == replica } }
    let replica = try Moment.replica(
      named: subject ?? "", among: devices.map { ($0.replica, $0.name) } + lost.map { ($0, "") })
    let name = devices.first { $0.replica == replica }?.name ?? ""
    return (replica, DisplayText.visible("\(replica.description.prefix(EventLine.prefixDigits)) \(name)"))
  }

  private func trust(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let (replica, shown) = try chosen(in: store)
    let fingerprint = try store.trust(replica, fingerprint: fingerprint)
    try store.close()
    if context.isJSON {
      try context.jsonLine { json in
        json.member("id", replica.description)
        json.member("fingerprint", fingerprint.description)
        json.member("isTrusted", true)
      }
    } else {
      try context.output.line("trusted: \(shown)")
      try context.output.line("  \(Fingerprint.text(fingerprint))")
    }
    return .success
  }

  private func retire(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting()
    let (replica, shown) = try chosen(in: store)
    guard replica != store.replica else {
      throw CommandError(
        .usage, "a store cannot retire its own replica", hint: "Retire it from another device.")
    }
    let commit = try store.retireReturningCommit(replica)
    context.note(commit)
    let recoveries = store.findings
    try store.close()
    let code = try context.report(recoveries, includesTorn: true)
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

/// A fingerprint as people compare it: in groups of four digits.
enum Fingerprint {
  static func text(_ fingerprint: Digest) -> String {
    let digits = Array(fingerprint.description)
    return stride(from: 0, to: digits.count, by: 4).map { String(digits[$0..<$0 + 4]) }.joined(separator: " ")
  }
}

/// The proofs that a device signed two histories.
private enum DeviceForks {
  static func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let names = Dictionary(
      store.devices.map { ($0.replica, $0.name) }, uniquingKeysWith: { first, _ in first })
    let evidence = try store.evidence()
    for (file, proof) in evidence {
      guard let proof else {
        context.warn("\(DisplayText.visible(file)) is damaged.")
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

/// Which device runs which version of a library's item type.
private struct DeviceSchemas {
  let library: String?

  func run(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let schemas = store.runningSchemas.filter { schema in library.map { $0 == schema.library } ?? true }
    if context.isJSON {
      for schema in schemas { try context.jsonLine { Self.write(schema, to: &$0) } }
      try context.jsonPartial(store.findings)
      return try context.report(store.findings)
    }
    guard !schemas.isEmpty else {
      try context.output.line(
        library.map { "no device has announced a version of \(DisplayText.visible($0))" }
          ?? "no device has announced a version")
      return try context.report(store.findings)
    }
    var table = Table([
      .init(title: "library"), .init(title: "replica"), .init(title: "name", isFlexible: true),
      .init(title: "version", alignment: .right), .init(title: "last write"),
      .init(title: "old names", isFlexible: true), .init(isFlexible: true),
    ])
    for schema in schemas {
      let device = schema.device
      table.add([
        .init(schema.library),
        .init(String(device.replica.description.prefix(EventLine.prefixDigits)), .name),
        .init(DisplayText.visible(device.name)), .init("\(schema.version)"),
        .init(device.lastSeen.map { context.times.text($0) } ?? "", .faint),
        .init(schema.oldNames.map(DisplayText.visible).joined(separator: ", ")),
        .init(Self.remarks(schema).joined(separator: ", "), .faint),
      ])
    }
    try context.linesWithTimes(table.lines(style: context.style, width: context.width))
    return try context.report(store.findings)
  }

  private static func remarks(_ schema: RunningSchema) -> [String] {
    var remarks: [String] = []
    if schema.device.isOwn { remarks.append("this device") }
    if schema.device.isEnded { remarks.append("forked") }
    if schema.device.isRetired { remarks.append("retired") }
    if !schema.isAnnounced { remarks.append("not announced") }
    return remarks
  }

  private static func write(_ schema: RunningSchema, to json: inout JSONWriter) {
    json.member("library", schema.library)
    json.member("replica", schema.device.replica.description)
    json.member("name", schema.device.name)
    json.member("isOwn", schema.device.isOwn)
    json.member("version", UInt64(schema.version))
    json.member("isAnnounced", schema.isAnnounced)
    json.name("lastSeen")
    if let lastSeen = schema.device.lastSeen { json.value(RFC3339.text(lastSeen)) } else { json.null() }
    json.member("isRetired", schema.device.isRetired)
    json.member("isEnded", schema.device.isEnded)
    json.member("oldNames", strings: schema.oldNames)
  }
}
