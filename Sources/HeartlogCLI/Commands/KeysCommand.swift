import Heartlog
import HeartlogShipping

/// `heartlog keys`: the keys of an encrypted vault.
struct KeysCommand: Command {
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
    paragraphs: [
      "What \"sync --encrypted\" puts in a folder or a hub can be read only with the keys of the vault. The recovery code leads to all of them, "
        + "and only it removes devices: write it down. It is printed once; no device keeps it. A device that has the code is admitted "
        + "when it syncs next.",
      "\"pair\" admits a device that can be reached, without the code: run it on either of the two, one of which has the keys. On the other "
        + "machine, ssh:// runs \"heartlog keys pair --stdio\", and so does the COMMAND of exec:COMMAND. Compare the fingerprint that it "
        + "prints with what \"heartlog devices --keys\" shows on the new device.",
      "\"rotate\" makes a new key. With --new-code or --without, it asks for the recovery code, makes a new one and prints it; the old one is void. "
        + "With --without, a device that was lost or stolen has no part in it, and nothing of its log counts after what is here now. Sync "
        + "before, so that this is all that it wrote, and afterwards, so that the others and a hub learn of it. What it could read until "
        + "then, it has.",
      "The recovery code is read from the terminal, or from standard input.",
    ],
    examples: [
      .init("heartlog keys init", "Encrypt the vault of this store."),
      .init("heartlog keys join -", "Join with the recovery code."),
      .init(
        "heartlog keys pair ssh://anna@desk.local/~/favorites.heartlog",
        "Get the keys from another device, or give them to it."),
      .init("heartlog keys rotate --without 9b04d1aa", "Remove a phone that was stolen."),
    ],
    endings: [
      .init(
        .no,
        "The vault is not encrypted, this device does not have what the action needs, or a device is not admitted."
      ),
      .init(.badInput, "What the other device sent does not admit this one, or is no pairing."),
      .init(.inputOutput, "The connection to the other device failed."),
      .init(.tryAgain, "The other device was silent for 30 seconds, or a store is locked."),
    ])

  private let action: Action
  private let code: String?
  private let prefix: String?
  /// The other device of a pairing; nil if this end serves.
  private let peer: PeerAddress?
  private let joinsVault: Bool
  private let makesCode: Bool
  private let isAgain: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    action = arguments.optionalText(Self.action).flatMap(Action.init) ?? .list
    code = arguments.optionalText(Self.code)
    prefix = arguments.text(Self.without)?.lowercased()
    let usage = "Usage: \(Self.description.usage.joined(separator: " "))"
    let serves = arguments.has(.stdio)
    joinsVault = arguments.has(.join)
    makesCode = arguments.has(Self.newCode)
    isAgain = arguments.has(Self.again)
    switch action {
    case .join: break
    case .pair:
      guard (code != nil) != serves else { throw .usage("keys pair needs a PEER or --stdio", hint: usage) }
    default:
      guard code == nil else { throw .usage("keys \(action.rawValue) takes no CODE", hint: usage) }
    }
    peer = action == .pair ? try code.map { (text) throws(CommandError) in try PeerAddress(text) } : nil
    if let peer { try Self.checkIsDevice(peer) }
    guard !serves || action == .pair else {
      throw .usage("--stdio can be used with keys pair only", hint: usage)
    }
    guard !joinsVault || peer != nil else {
      throw .usage("--join can be used with keys pair PEER only", hint: usage)
    }
    guard prefix == nil && !makesCode || action == .rotate else {
      throw .usage("--without and --new-code can be used with keys rotate only", hint: usage)
    }
    guard !isAgain || action == .`init` else {
      throw .usage("--again can be used with keys init only", hint: usage)
    }
  }

  private static func checkIsDevice(_ peer: PeerAddress) throws(CommandError) {
    switch peer {
    case .store, .command, .ssh: break
    case .folder, .hub:
      throw .usage(
        "a device is paired with another one, not with a folder or a hub",
        hint: "Through these, the recovery code admits it: \"heartlog keys join -\".")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    if action == .pair {
      guard let peer, let text = code else { return try PairingRun(context: context).serve() }
      return try PairingRun(context: context).call(peer, text, joinsVault: joinsVault)
    }
    let isReading = action == .list
    let store = try isReading ? context.openForReading() : context.openForWriting(endsSoon: true)
    var keys = try VaultKeys(of: store)
    switch action {
    case .list: try list(keys, store, context)
    case .`init`:
      do { try keys.make(again: isAgain) { try show($0, context) } } catch let error as HeartlogError {
        guard error.code == .exists else { throw error }
        throw CommandError(
          .no, error.message,
          hint:
            "\"heartlog keys list\" shows its epochs. If its recovery code is lost, \"heartlog keys init --again\" begins a new vault."
        )
      }
    case .join:
      let typed = code == nil || code == "-"
      try keys.join(typed ? try RecoveryCodePrompt.read(context) : code ?? "")
      if context.isJSON {
        try context.jsonLine { $0.member("isKept", true) }
      } else {
        try context.output.line(
          "the code is kept until the next sync with the encrypted folder or hub, which admits this device")
      }
    case .pair: break
    case .rotate: try rotate(&keys, store, context)
    }
    if !isReading { try store.close() }
    return try context.report(store.findings)
  }

  private func rotate(
    _ keys: inout VaultKeys, _ store: FavoritesStore, _ context: CommandContext
  ) throws {
    guard keys.isEncrypted else { throw Self.notEncrypted }
    if let reason = keys.reasonOut { throw CommandError(.no, reason) }
    guard prefix != nil || makesCode else {
      try keys.rotate()
      if context.isJSON {
        try context.jsonLine { $0.member("isRotated", true) }
      } else {
        try context.output.line("the vault has a new key; the recovery code is the same")
      }
      return
    }
    let devices = store.devices
    let members = Set(keys.members).subtracting(devices.map(\.replica))
    let known = devices.map { ($0.replica, $0.name) } + members.sorted().map { ($0, "") }
    let replica = try prefix.map { try Moment.replica($0, among: known) }
    try keys.rotate(code: try RecoveryCodePrompt.read(context), without: replica) { try show($0, context) }
  }

  /// Prints a code before what it belongs to is written, so that none is made that nobody has seen.
  private func show(_ code: String, _ context: CommandContext) throws {
    do {
      if context.isJSON {
        try context.jsonLine { $0.member("recoveryCode", code) }
      } else {
        try context.output.line(
          "Whoever has this code can read the vault. Write it down, and keep it apart: it will not be shown again."
        )
        try context.output.line(code)
      }
      try context.output.flush()
    } catch {
      throw CommandError(
        .inputOutput, "the recovery code could not be printed (\(error)), so nothing was changed",
        hint: "Run the command again where its output can be read.")
    }
  }

  private func list(
    _ keys: borrowing VaultKeys, _ store: FavoritesStore, _ context: CommandContext
  ) throws {
    guard keys.isEncrypted || keys.isJoining else { throw Self.notEncrypted }
    let names = Dictionary(
      store.devices.map { ($0.replica, $0.name) }, uniquingKeysWith: { first, _ in first })
    func shown(_ replica: ReplicaID) -> String {
      let id = String(replica.description.prefix(EventLine.prefixDigits))
      guard let name = names[replica], !name.isEmpty else { return id }
      return "\(id) \(name)"
    }
    for epoch in keys.epochs {
      if context.isJSON {
        try context.jsonLine { json in
          json.member("id", epoch.id)
          json.member("number", epoch.number)
          json.member("isCurrent", epoch.isCurrent)
          json.member("isReadable", epoch.isReadable)
          json.member("devices", JSONValue.array(epoch.devices.map { .string($0.description) }))
          json.member("revoked", JSONValue.array(epoch.revoked.keys.sorted().map { .string($0.description) }))
        }
        continue
      }
      let maker = (epoch.isOfRoot ? "the recovery code on " : "") + shown(epoch.maker)
      let what = epoch.isCurrent ? ", current" : epoch.isReadable ? "" : ", not readable here"
      try context.output.line(
        DisplayText.visible("epoch \(epoch.number)  \(epoch.id.prefix(8))  made by \(maker)\(what)"))
      for device in epoch.devices {
        try context.output.line(DisplayText.visible("  device   \(shown(device))"))
      }
      for (replica, size) in epoch.revoked.sorted(by: { $0.key < $1.key }) {
        try context.output.line(
          DisplayText.visible("  removed  \(shown(replica)), after commit \(size)"))
      }
    }
    if let reason = keys.reasonOut, !keys.isJoining { throw CommandError(.no, reason) }
    if keys.isJoining, !context.isJSON {
      try context.output.line("this device is admitted by the next sync with the encrypted folder or hub")
    }
  }

  private static let notEncrypted = CommandError(
    .no, "the vault is not encrypted",
    hint: "\"heartlog keys init\", or \"heartlog sync folder:DIR --encrypted\", makes its first key.")
}
