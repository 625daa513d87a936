import Heartlog
import HeartlogSync

/// `heartlog keys`: the keys of an encrypted vault.
enum KeysCommand: Command {
  private enum Action: String, CaseIterable {
    case list
    case `init`
    case join
    case pair
    case rotate
  }

  private static let action = Argument(
    "ACTION", form: Action.allCases.map(\.rawValue).joined(separator: "|"), .optional,
    .choice(Action.allCases.map(\.rawValue)),
    "list the epochs (the default), encrypt the vault, join with the recovery code, pair with another device, or rotate."
  )
  private static let code = Argument(
    "CODE", form: "-|PEER", .optional, .text,
    "For join, \"-\" reads the recovery code from standard input. For pair, the other device: its directory, exec:COMMAND, or "
      + "ssh://[user@]host[:port]/path.")
  private static let without = Option.value(
    "without", "REPLICA", .replica,
    "Remove this device when rotating: it reads nothing that is written later. Asks for the recovery code.")
  private static let newCode = Option.flag(
    "new-code", "Make a new recovery code when rotating. Asks for the present one.")
  private static let again = Option.flag(
    "again", "Leave an encrypted vault whose recovery code is lost for a new one with the same log.")

  static let description = CommandDescription(
    name: "keys", group: .devices, summary: "encrypt a vault, and admit and revoke devices",
    arguments: [action, code], options: [without, newCode, again, .join, .stdio],
    page: #"""
      What "sync --encrypted" puts in a folder or a hub can be read only with the keys of the vault. The recovery code leads to all of them, and
      only it removes devices: write it down. It is printed once; no device keeps it. A device that has the code is admitted when it syncs next.

      "pair" admits a device that can be reached, without the code: run it on either of the two, one of which has the keys. On the other machine,
      ssh:// runs "heartlog keys pair --stdio", and so does the COMMAND of exec:COMMAND. Compare the fingerprint that it prints with what
      "heartlog devices --keys" shows on the new device.

      "rotate" makes a new key. With --new-code or --without, it asks for the recovery code, makes a new one and prints it; the old one is void.
      With --without, a device that was lost or stolen has no part in it, and nothing of its log counts after what is here now. Sync before, so
      that this is all that it wrote, and afterwards, so that the others and a hub learn of it. What it could read until then, it has. Devices
      that only it had admitted are left out and named: each comes back with the new code, or with "pair".

      The recovery code is read from the terminal, or from standard input.

      heartlog keys init  # Encrypt the vault of this store.
      heartlog keys join -  # Join with the recovery code.
      heartlog keys pair ssh://anna@desk.local/~/favorites.heartlog  # Get the keys from another device, or give them to it.
      heartlog keys rotate --without 9b04d1aa  # Remove a phone that was stolen.

      Exit code 1: The vault is not encrypted, this device does not have what the action needs, or a device is not admitted.
      Exit code 65: What the other device sent does not admit this one, or is no pairing.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let action = arguments.optionalText(Self.action).flatMap(Action.init) ?? .list
    let code = arguments.optionalText(Self.code)
    guard action != .pair || (code != nil) != arguments.has(.stdio) else {
      throw misused("keys pair needs a PEER or --stdio")
    }
    guard code == nil || action == .join || action == .pair else {
      throw misused("keys \(action.rawValue) takes no CODE")
    }
    try arguments.allow(.stdio, onlyWith: "keys pair", if: action == .pair)
    try arguments.allow(.join, onlyWith: "keys pair PEER", if: action == .pair && code != nil)
    try arguments.allow(Self.without, Self.newCode, onlyWith: "keys rotate", if: action == .rotate)
    try arguments.allow(Self.again, onlyWith: "keys init", if: action == .`init`)
    if action == .pair {
      guard let code else { return try serve(context) }
      let peer = try PeerAddress(code)
      guard !peer.isPlace else {
        throw CommandError.usage(
          "a device is paired with another one, not with a folder or a server",
          hint: "Through these, the recovery code admits it: \"heartlog keys join -\".")
      }
      return try call(peer, code, joinsVault: arguments.has(.join), context)
    }
    let isReading = action == .list
    let store = try isReading ? context.openForReading() : context.openForWriting(endsSoon: true)
    var keys = try VaultKeys(of: store)
    switch action {
    case .list: try list(keys, store, context)
    case .`init`:
      do {
        try keys.make(again: arguments.has(Self.again)) { try show($0, context) }
      } catch let error as HeartlogError where error.code == .exists {
        throw CommandError(
          .no, error.message,
          hint:
            "\"heartlog keys list\" shows its epochs. If its recovery code is lost, \"heartlog keys init --again\" begins a new vault."
        )
      }
    case .join:
      try keys.join(try code.flatMap { $0 == "-" ? nil : $0 } ?? SecretPrompt.read("recovery code", context))
      try context.show(
        ["isKept": true],
        ["the code is kept until the next sync with the encrypted folder or hub, which admits this device"])
    case .pair: break
    case .rotate:
      try rotate(
        &keys, without: arguments.text(Self.without)?.lowercased(),
        makesCode: arguments.has(Self.newCode), store, context)
    }
    if !isReading { try store.close() }
    return try context.report(store.findings)
  }

  private static func rotate(
    _ keys: inout VaultKeys, without prefix: String?, makesCode: Bool, _ store: FavoritesStore,
    _ context: CommandContext
  ) throws {
    guard keys.isEncrypted else { throw Self.notEncrypted }
    if let reason = keys.reasonOut { throw CommandError(.no, reason) }
    guard prefix != nil || makesCode else {
      try keys.rotate()
      return try context.show(
        ["isRotated": true], ["the vault has a new key; the recovery code is the same"])
    }
    let devices = store.devices
    let members = Set(keys.members).subtracting(devices.map(\.replica))
    let known = devices.map { ($0.replica, $0.name) } + members.sorted().map { ($0, "") }
    let replica = try prefix.map { try Moment.replica($0, among: known) }
    let names = Dictionary(known, uniquingKeysWith: { first, _ in first })
    let leftOut = replica.map { keys.leftOut(without: $0) } ?? []
    try keys.rotate(code: try SecretPrompt.read("recovery code", context), without: replica) {
      try show($0, leftOut: leftOut.map { ($0, names[$0] ?? "") }, context)
    }
  }

  /// Prints a code before what it belongs to is written, so that none is made that nobody has seen.
  private static func show(
    _ code: String, leftOut: [(replica: ReplicaID, name: String)] = [], _ context: CommandContext
  ) throws {
    var lines: [String] = []
    if !leftOut.isEmpty {
      lines = leftOut.prefix(Self.shownMax).map { "left out: \($0.replica.short(named: $0.name))" }
      let more = leftOut.count - Self.shownMax
      if more > 0 { lines.append("left out: \(Quantity.count(more)) more") }
      lines.append(
        "Only the removed device had admitted what is left out. Nothing that was written there is lost: to come back, enter the code below there with "
          + "\"heartlog keys join -\", or use \"heartlog keys pair\".")
    }
    lines += [
      "Whoever has this code can read the vault. Write it down, and keep it apart: it will not be shown again.",
      code,
    ]
    do {
      try context.show(
        ["leftOut?": leftOut.map(\.replica).ifAny, "recoveryCode": code], lines.map(DisplayText.visible))
      try context.output.flush()
    } catch {
      throw CommandError(
        .inputOutput, "the recovery code could not be printed (\(error)), so nothing was changed",
        hint: "Run the command again where its output can be read.")
    }
  }

  private static func list(
    _ keys: VaultKeys, _ store: FavoritesStore, _ context: CommandContext
  ) throws {
    guard keys.isEncrypted || keys.isJoining else { throw Self.notEncrypted }
    let names = store.deviceNames
    for epoch in keys.epochs {
      let revoked = epoch.revoked.sorted { $0.key < $1.key }
      let maker =
        (epoch.isOfRoot ? "the recovery code on " : "") + epoch.maker.short(named: names[epoch.maker])
      let what = epoch.isCurrent ? ", current" : epoch.isReadable ? "" : ", not readable here"
      let lines =
        ["epoch \(epoch.number)  \(epoch.id.prefix(8))  made by \(maker)\(what)"]
        + epoch.devices.map { "  device   \($0.short(named: names[$0]))" }
        + revoked.map { "  removed  \($0.short(named: names[$0])), after commit \($1)" }
      try context.show(
        [
          "id": epoch.id, "number": epoch.number, "isCurrent": epoch.isCurrent,
          "isReadable": epoch.isReadable, "devices": epoch.devices, "revoked": revoked.map(\.key),
        ], lines.map(DisplayText.visible))
    }
    if !keys.isConfirmed, !context.isJSON {
      try context.output.line(
        "this device came with an invitation, and no other one has seen it yet: sync another device of the vault"
      )
    }
    if let reason = keys.reasonOut, !keys.isJoining { throw CommandError(.no, reason) }
    if keys.isJoining, !context.isJSON {
      try context.output.line("this device is admitted by the next sync with the encrypted folder or hub")
    }
  }

  /// Serves the other end of a pairing on standard input and output, which carry only the protocol.
  private static func serve(_ context: CommandContext) throws -> ExitCode {
    let store = try context.openForWriting(endsSoon: true)
    let channel = DescriptorChannel(input: 0, output: 1, closes: false)
    do { _ = try PairingSession(store, over: channel, role: .serving).run() } catch {
      throw Self.shown(error)
    }
    try store.close()
    return try context.report(store.findings)
  }

  /// Pairs with the device at an address, and prints what was done.
  private static func call(
    _ peer: PeerAddress, _ text: String, joinsVault: Bool, _ context: CommandContext
  ) throws -> ExitCode {
    let store = try context.openForWriting(endsSoon: true)
    var options = SyncOptions()
    options.joinsVault = joinsVault
    let report: PairingReport
    do {
      guard let carrier = try peer.carrier(context, endsSoon: true) as? any PairingCarrier else {
        preconditionFailure("a folder or a hub is no device")
      }
      report = try carrier.pair(store, options: options)
    } catch {
      // The error of the pairing is the one to report.
      try? context.closePeers(of: store)
      throw (error as? HeartlogError).map(Self.shown) ?? error
    }
    try context.closePeers(of: store)
    try store.close()
    let page = PairingPage(report: report, peer: text)
    try context.show(page.json, page.lines)
    return try context.report(store.findings)
  }

  /// Most hints of these errors are about commits.
  private static func shown(_ error: HeartlogError) -> CommandError {
    var shown = SyncRun.shown(error)
    switch error.code {
    case .noKey, .peer: shown.hint = nil
    case .timedOut: shown.hint = "Pair again: what was done is kept."
    case .otherVault:
      shown.hint =
        "Nothing was done. \"heartlog keys pair PEER --join\" makes this store a member of the other vault."
    default: break
    }
    return shown
  }

  private static let shownMax = 20
  private static let notEncrypted = CommandError(
    .no, "the vault is not encrypted",
    hint: "\"heartlog keys init\", or \"heartlog sync folder:DIR --encrypted\", makes its first key.")
}

/// What `keys pair` prints.
struct PairingPage {
  let report: PairingReport
  /// The other device as it was named.
  let peer: String

  var lines: [String] {
    var lines: [String] = []
    let other = report.peer.short(named: report.peerName)
    if let device = report.admitted {
      lines.append("admitted: \(device.replica.short(named: device.name))")
      lines.append("  key  \(Fingerprint.text(device.fingerprint))")
      lines.append(
        device.isOwn
          ? "Sync \(other) once, and then this device: a hub does not let it in before."
          : "Sync this device once, and then \(other): a hub does not let it in before.")
    } else {
      let exchanged = [(report.epochsReceived, "received"), (report.epochsSent, "sent")].filter { $0.0 > 0 }
        .map { "\(Quantity.count($0.0, "key epoch")) \($0.1)" }
      if exchanged.isEmpty {
        lines.append("nothing had to be done: this device and \(other) have the keys already")
      } else {
        lines.append("this device and \(other) have the same keys now: \(exchanged.joined(separator: ", "))")
      }
    }
    return lines.map(DisplayText.visible)
  }

  var json: JSONObject {
    let admitted = report.admitted.map { device -> JSONObject in
      [
        "replica": device.replica, "name": device.name, "fingerprint": device.fingerprint,
        "isOwn": device.isOwn,
      ]
    }
    return [
      "peer": peer, "peerReplica": report.peer, "peerName": report.peerName, "admitted?": admitted,
      "epochsReceived": report.epochsReceived, "epochsSent": report.epochsSent,
    ]
  }
}

/// Asks for a secret, which must stand neither in the list of processes nor in the history of a shell.
enum SecretPrompt {
  /// Reads a line from the terminal, which does not show it, or from standard input.
  static func read(_ what: String, _ context: CommandContext) throws -> String {
    var settings = termios()
    let isTerminal = tcgetattr(STDIN_FILENO, &settings) == 0
    if isTerminal {
      try context.output.flush()
      context.output.errorLine("\(what) (not shown):")
      var silent = settings
      silent.c_lflag &= ~tcflag_t(ECHO)
      tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent)
    }
    defer { if isTerminal { tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) } }
    guard let line = try LineReader(nil).next({ String(decoding: $0.prefix(lineBytesMax), as: UTF8.self) })
    else {
      throw CommandError(.usage, "no \(what) was entered", hint: "It is read from standard input.")
    }
    return line
  }

  private static let lineBytesMax = 4_096
}
