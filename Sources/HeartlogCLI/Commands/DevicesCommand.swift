import Heartlog
import HeartlogFormat

/// `heartlog devices`: lists the devices whose commits are in the store, confirms their keys, retires and drops them, and shows their forks
/// and the versions of the item types that they run.
enum DevicesCommand: Command {
  private enum Action: String, CaseIterable {
    case list
    case trust
    case retire
    case drop
    case keep
    case forks
    case schemas
  }

  private static let action = Argument(
    "ACTION", .optional, .choice(Action.allCases.map(\.rawValue)),
    "list the devices (the default); trust: confirm the key of one; retire one; drop one from this store; "
      + "keep: take it back; forks: list those that signed two histories; "
      + "schemas: show which versions of item types they run.")
  private static let subject = Argument(
    "DEVICE", form: "DEVICE|LIBRARY", .optional, .replica,
    "For trust, retire, drop and keep, the first digits of the device's id, or its name. For schemas, show only this library."
  )
  private static let fingerprint = Argument(
    "FINGERPRINT", .optional, .text,
    "For trust, the fingerprint that the device itself shows: 64 hexadecimal digits. Spaces and colons do not matter."
  )
  private static let keys = Option.flag(
    "keys", "Show each device's key: its fingerprint, what it last signed, and who has seen that.")

  static let description = CommandDescription(
    name: "devices", group: .devices, summary: "list, trust, retire and drop devices; show forks",
    arguments: [action, subject, fingerprint], options: [keys],
    page: #"""
      "list" shows each device's name, the number of its last commit, its number of events, and the time of its last write by its own clock.
      A clock that is ahead is reported, by the device's own times. Its taps win over yours until you sync with it, so set that clock right.
      "signed" is the number of commits that the device has signed.

      "trust" confirms the key of a device. A device is known by its key from the first sync on. Whether it is the device that you think it is,
      only a comparison shows: run "heartlog devices --keys" on it, and give what it says about itself. Without FINGERPRINT you confirm that
      you have compared it yourself.

      "retire" marks a device that will not come back. All devices that receive the mark show it. What the device wrote is kept. If it comes
      back after all, nothing is lost.

      "drop" takes the commits of a device out of this store, as if they had never come, and no sync brings them back: for a device that
      somebody made up. Other devices keep what they have. The commits stay in a folder, which is named, until you remove its files; "keep"
      takes them back.

      "forks" lists the proofs that a device signed two histories: its folder was copied together with the key, or its past was rewritten. The
      next sync with anyone who has seen the other history finds it, and keeps both signed checkpoints. Anybody can check the file with
      "heartlog verify FILE", without a store.

      "schemas" shows which device runs which version of a library's item type. An app announces the version with the first write that it makes
      with it; a device without an announcement counts as version 1. "old names" are the fields that newer versions also write under an older
      name because this device needs it. It no longer does once it announces a newer version, or is retired.

      heartlog devices  # List the devices.
      heartlog devices --keys  # Show the fingerprints, to compare them.
      heartlog devices trust 9b04d1aa  # Confirm a key that you have compared.
      heartlog devices retire 9b04d1aa  # Retire a phone that was lost.
      heartlog devices drop 5d11c0fe  # Drop a device that nobody knows.
      heartlog devices schemas trips --json  # Print who runs which version of a library as JSON.

      Exit code 1: The device does not exist, has signed nothing, or is already retired or kept; or there is no fork.
      Exit code 65: The key has another fingerprint: what is here was not signed by that device. Or a file of evidence is damaged.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let action = arguments.optionalText(Self.action).flatMap(Action.init) ?? .list
    let subject = arguments.optionalText(Self.subject)
    let isOfDevice = [.trust, .retire, .drop, .keep].contains(action)
    guard isOfDevice == (subject != nil) || action == .schemas else {
      throw misused("devices \(action.rawValue) \(isOfDevice ? "needs a" : "takes no") DEVICE")
    }
    try arguments.allow(Self.keys, onlyWith: "devices list", if: action == .list)
    guard action == .trust || arguments.optionalText(Self.fingerprint) == nil else {
      throw misused("devices \(action.rawValue) takes no FINGERPRINT")
    }
    switch action {
    case .list: return try list(showsKeys: arguments.has(Self.keys), context)
    case .forks: return try forks(context)
    case .schemas:
      if let subject { try ValueKind.checkLibrary(subject) }
      return try schemas(of: subject, context)
    case .trust, .retire, .drop, .keep: return try change(arguments, action, subject ?? "", context)
    }
  }

  private static func list(showsKeys: Bool, _ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let devices = store.devices
    let signatures = try store.signatures()
    let now = StoreOptions.systemTime()
    // People compare it before the device has written or signed anything.
    let ownKey = try store.deviceKey?.publicKey
    let table = Table(
      [
        .init(title: "replica"), .init(title: "name", isFlexible: true),
        .init(title: "head", alignment: .right), .init(title: "signed", alignment: .right),
        .init(title: "events", alignment: .right), .init(title: "last write"), .init(isFlexible: true),
      ],
      rows: devices.map { device in
        let signed = signatures[device.replica]?.checkpoint.checkpoint.size
        return [
          .init(device.replica.short, .name), .init(device.name), .init(Quantity.count(device.head)),
          .init(signed.map { Quantity.count($0) } ?? "–"), .init(Quantity.count(device.events)),
          .init(device.lastSeen.map { context.times.text($0) } ?? "", .faint),
          .init(device.remarks(at: now, context.times), .faint),
        ]
      })
    let names = store.deviceNames
    func key(of device: Device) -> PublicKey? { device.isOwn ? ownKey : nil }
    let keys =
      showsKeys
      ? devices.flatMap {
        [""] + Self.keyLines(of: $0, signatures[$0.replica], ownKey: key(of: $0), names, context.style)
      } : []
    return try context.show(
      devices.map { Self.json($0, signatures[$0.replica], ownKey: key(of: $0)) },
      context.withTimes(context.lines(table)) + keys, findings: store.findings)
  }

  private static func keyLines(
    of device: Device, _ signature: StreamSignature?, ownKey: PublicKey?, _ names: [ReplicaID: String],
    _ style: Style
  ) -> [String] {
    func shown(_ replica: ReplicaID) -> String {
      DisplayText.visible(replica.short(named: names[replica]))
    }
    let title = style(.name, shown(device.replica))
    guard let signature else {
      guard let ownKey else { return [title, "  unsigned: it has no key, or has signed nothing yet"] }
      return [
        title, "  key     \(Fingerprint.text(ownKey.fingerprint))  (this device)", "  nothing signed yet",
      ]
    }
    let confirmed = device.isOwn ? "this device" : signature.isTrusted ? "confirmed" : "not confirmed"
    let (key, signed) = (signature.checkpoint.key, signature.checkpoint.checkpoint)
    let witnesses = signature.witnesses.map(shown)
    return [
      title, "  key     \(Fingerprint.text(key.fingerprint))  (\(confirmed))",
      "  signed  \(Quantity.count(signed.size, "commit")), root \(signed.root)",
      "  seen by \(witnesses.isEmpty ? "nobody yet" : witnesses.joined(separator: ", "))",
    ]
  }

  private static func json(
    _ device: Device, _ signature: StreamSignature?, ownKey: PublicKey?
  ) -> JSONObject {
    [
      "id": device.replica, "name": device.name, "isOwn": device.isOwn, "head": device.head,
      "events": device.events, "lastSeen": RFC3339.text(device.lastSeen),
      "latestTime": RFC3339.text(device.latestTime), "wallClockAheadSeconds": device.wallClockAheadSeconds,
      "isRetired": device.isRetired, "isEnded": device.isEnded,
      "fingerprint?": signature == nil ? ownKey?.fingerprint : nil, "signature": signature.map(Self.json),
    ]
  }

  private static func json(_ signature: StreamSignature) -> JSONObject {
    let (key, signed) = (signature.checkpoint.key, signature.checkpoint.checkpoint)
    return [
      "commits": signed.size, "root": signed.root, "vault": signed.vault, "fingerprint": key.fingerprint,
      "isTrusted": signature.isTrusted, "witnesses": signature.witnesses,
    ]
  }

  /// Lists the proofs that a device signed two histories.
  private static func forks(_ context: CommandContext) throws -> ExitCode {
    let evidence = try context.openForReading().evidence()
    for (file, proof) in evidence {
      guard let proof = proof.map(ProofFile.fork) else {
        context.warn("\(file) is damaged.")
        continue
      }
      try context.show(["file": file] + proof.json, [DisplayText.visible(file)] + proof.lines(context))
    }
    if evidence.isEmpty {
      if !context.isJSON {
        try context.output.line("no device signed two histories, as far as this store has seen")
      }
      return .no
    }
    return evidence.contains { $0.proof == nil } ? .badInput : .success
  }

  /// Lists which device runs which version of a library's item type.
  private static func schemas(of library: String?, _ context: CommandContext) throws -> ExitCode {
    let store = try context.openForReading()
    let schemas = store.runningSchemas.filter { schema in library.map { $0 == schema.library } ?? true }
    let of = library.map { " of \(DisplayText.visible($0))" } ?? ""
    let table = Table(
      [
        .init(title: "library"), .init(title: "replica"), .init(title: "name", isFlexible: true),
        .init(title: "version", alignment: .right), .init(title: "last write"),
        .init(title: "old names", isFlexible: true), .init(isFlexible: true),
      ],
      rows: schemas.map { schema in
        let device = schema.device
        return [
          .init(schema.library), .init(device.replica.short, .name), .init(device.name),
          .init("\(schema.version)"), .init(device.lastSeen.map { context.times.text($0) } ?? "", .faint),
          .init(schema.oldNames.joined(separator: ", ")),
          .init(Self.remarks(schema, context), .faint),
        ]
      })
    return try context.show(
      schemas.map(Self.json),
      schemas.isEmpty
        ? ["no device has announced a version\(of)"] : context.withTimes(context.lines(table)),
      findings: store.findings)
  }

  private static func remarks(_ schema: RunningSchema, _ context: CommandContext) -> String {
    let ofDevice = schema.device.remarks(at: StoreOptions.systemTime(), context.times)
    return [ofDevice, schema.isAnnounced ? "" : "not announced"].filter { !$0.isEmpty }
      .joined(separator: ", ")
  }

  private static func json(_ schema: RunningSchema) -> JSONObject {
    let device = schema.device
    return [
      "library": schema.library, "replica": device.replica, "name": device.name, "isOwn": device.isOwn,
      "version": UInt64(schema.version), "isAnnounced": schema.isAnnounced,
      "lastSeen": RFC3339.text(device.lastSeen), "isRetired": device.isRetired, "isEnded": device.isEnded,
      "oldNames": schema.oldNames,
    ]
  }

  /// Confirms the key of a device, retires or drops it, or takes it back.
  private static func change(
    _ arguments: Arguments, _ action: Action, _ subject: String, _ context: CommandContext
  ) throws -> ExitCode {
    let fingerprint = try arguments.optionalText(Self.fingerprint).map { text in
      guard let digest = Digest(text.filter { $0 != " " && $0 != ":" }) else {
        throw CommandError.usage(
          "a fingerprint has 64 hexadecimal digits",
          hint: "\"heartlog devices --keys\" shows it on the device itself.")
      }
      return digest
    }
    let store = try context.openForWriting()
    let known = action == .keep ? [] : store.devices.map { ($0.replica, $0.name) }
    let nameless = try action == .keep ? store.droppedReplicas() : store.lostReplicas()
    let others = nameless.filter { replica in !known.contains { $0.0 == replica } }
    let replica = try Moment.replica(named: subject, among: known + others.map { ($0, "") })
    let shown = replica.short(named: known.first { $0.0 == replica }?.1)
    guard replica != store.replica || action == .trust else {
      throw CommandError(
        .usage, "a store cannot \(action.rawValue) its own replica", hint: "Do so on another device.")
    }
    let (done, json, detail): (String, JSONObject, String?)
    switch action {
    case .trust:
      let fingerprint = try store.trust(replica, fingerprint: fingerprint)
      (done, json) = ("trusted", ["fingerprint": fingerprint, "isTrusted": true])
      detail = Fingerprint.text(fingerprint)
    case .drop:
      let folder = try store.drop(replica)
      (done, json, detail) = ("dropped", ["isDropped": true, "folder": folder], folder)
    case .keep:
      try store.keep(replica)
      (done, json, detail) = ("kept", ["isDropped": false], nil)
    case .retire:
      guard let commit = try store.retireReturningCommit(replica) else {
        throw CommandError(.no, "\(shown) is already retired", hint: "Nothing was written.")
      }
      context.note(commit)
      (done, json, detail) = ("retired", ["isRetired": true], nil)
    case .list, .forks, .schemas: preconditionFailure("these change nothing")
    }
    let code = try context.close(store)
    let lines = ["\(done): \(shown)"] + (detail.map { ["  \($0)"] } ?? [])
    try context.show(["id": replica] + json, lines.map(DisplayText.visible))
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

extension Device {
  /// What there is to say of a device besides its numbers.
  func remarks(at now: Milliseconds, _ times: Zone) -> String {
    var remarks: [String] = []
    if isOwn { remarks.append("this device") }
    if isEnded { remarks.append("forked: its two histories continue as separate replicas") }
    if isRetired { remarks.append("retired") }
    if wallClockAheadSeconds >= 1 {
      remarks.append("its clock is \(Quantity.duration(seconds: wallClockAheadSeconds)) ahead")
    } else if let latest = latestTime, latest > now {
      remarks.append("its clock was ahead, at \(times.text(latest)), and was set back")
    }
    return remarks.joined(separator: ", ")
  }
}
