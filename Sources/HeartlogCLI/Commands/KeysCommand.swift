import Heartlog
import HeartlogShipping

/// `heartlog keys`: the keys of an encrypted vault.
struct KeysCommand: Command {
  private enum Action: String, CaseIterable {
    case list
    case `init`
    case show
    case join
    case pair
    case rotate
  }

  private static let action = Argument(
    "ACTION", form: Action.allCases.map(\.rawValue).joined(separator: "|"), .optional,
    .choice(Action.allCases.map(\.rawValue)),
    "list the epochs (the default), make the first one, show the recovery code, join with one, pair with another device, "
      + "or rotate.")
  private static let code = Argument(
    "CODE", form: "CODE|PEER", .optional, .text,
    "The recovery code, for join. The other device, for pair: its directory, exec:COMMAND, or ssh://[user@]host[:port]/path."
  )
  private static let without = Option.value(
    "without", "REPLICA", .replica,
    "Revoke this device when rotating: it reads nothing that is written later.")

  static let description = CommandDescription(
    name: "keys", group: .devices, summary: "encrypt a vault, and admit and revoke devices",
    arguments: [action, code], options: [without, .join, .stdio],
    paragraphs: [
      "What \"sync --encrypted\" puts in a folder or a hub can be read only with the keys of the vault. The recovery code leads to all of them: "
        + "write it down. A device that has the code is admitted when it syncs next.",
      "\"pair\" admits a device that can be reached, without the code: run it on either of the two, one of which has the keys. On the other "
        + "machine, ssh:// runs \"heartlog keys pair --stdio\", and so does the COMMAND of exec:COMMAND. Compare the fingerprint that it "
        + "prints with what \"heartlog devices --keys\" shows on the new device.",
      "\"rotate\" makes a new key and a new recovery code; the old code is void. With --without, a device that was lost or stolen has no "
        + "part in it, and nothing of its log counts behind what is here now. Sync before, so that this is all that it wrote, and afterwards, "
        + "so that the others learn of it and a hub answers it no more. What it could read until then, it has.",
      "\"show\" prints the recovery code as its last line. Only devices that made it, or were told it, have it.",
    ],
    examples: [
      .init("heartlog keys init", "Encrypt the vault of this store."),
      .init("heartlog keys show", "Print the recovery code."),
      .init(
        "heartlog keys pair ssh://anna@desk.local/~/favorites.heartlog",
        "Get the keys from another device, or give them to it."),
      .init("heartlog keys rotate --without 9b04d1aa", "Revoke a phone that was stolen."),
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

  init(_ arguments: Arguments) throws(CommandError) {
    action = arguments.optionalText(Self.action).flatMap(Action.init) ?? .list
    code = arguments.optionalText(Self.code)
    prefix = arguments.text(Self.without)?.lowercased()
    let usage = "Usage: \(Self.description.usage.joined(separator: " "))"
    let serves = arguments.has(.stdio)
    joinsVault = arguments.has(.join)
    switch action {
    case .join:
      guard code != nil else { throw .usage("keys join needs a CODE", hint: usage) }
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
    guard prefix == nil || action == .rotate else {
      throw .usage("--without can be used with keys rotate only", hint: usage)
    }
  }

  private static func checkIsDevice(_ peer: PeerAddress) throws(CommandError) {
    switch peer {
    case .store, .command, .ssh: break
    case .folder, .hub:
      throw .usage(
        "a device is paired with another one, not with a folder or a hub",
        hint: "Through these, the recovery code admits it: \"heartlog keys join CODE\".")
    }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    if action == .pair {
      guard let peer, let text = code else { return try PairingRun(context: context).serve() }
      return try PairingRun(context: context).call(peer, text, joinsVault: joinsVault)
    }
    let isReading = action == .list || action == .show
    let store = try isReading ? context.openForReading() : context.openForWriting(endsSoon: true)
    var keys = try VaultKeys(of: store)
    switch action {
    case .list: try list(keys, store, context)
    case .show: try show(keys, context)
    case .`init`:
      do { try keys.make() } catch {
        guard error.code == .exists else { throw error }
        throw CommandError(.no, error.message, hint: "\"heartlog keys list\" shows its epochs.")
      }
      try show(keys, context)
    case .join:
      try keys.join(code ?? "")
      if context.isJSON {
        try context.jsonLine { $0.member("isKept", true) }
      } else {
        try context.output.line(
          "the code is kept; the next sync with the encrypted folder or hub admits this device")
      }
    case .pair: break
    case .rotate:
      let devices = store.devices
      let members = Set(keys.epochs.flatMap(\.devices)).subtracting(devices.map(\.replica))
      let known = devices.map { ($0.replica, $0.name) } + members.sorted().map { ($0, "") }
      try keys.rotate(without: try prefix.map { try Moment.replica($0, among: known) })
      try show(keys, context)
    }
    if !isReading { try store.close() }
    return try context.report(store.findings)
  }

  private func show(_ keys: borrowing VaultKeys, _ context: CommandContext) throws {
    guard keys.isEncrypted else { throw Self.notEncrypted }
    guard let code = keys.code else {
      throw CommandError(
        .no, keys.reasonOut ?? "this device does not have the vault's recovery code",
        hint: "The device that made it does. \"heartlog keys rotate\" makes another one.")
    }
    if context.isJSON {
      try context.jsonLine { $0.member("recoveryCode", code) }
    } else {
      try context.output.line("Whoever has this code can read the vault. Write it down, and keep it apart.")
      try context.output.line(code)
    }
  }

  private func list(
    _ keys: borrowing VaultKeys, _ store: FavoritesStore, _ context: CommandContext
  ) throws {
    guard keys.isEncrypted else { throw Self.notEncrypted }
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
      let maker = epoch.maker.map(shown) ?? "the recovery code"
      let what = epoch.isCurrent ? ", current" : epoch.isReadable ? "" : ", not readable here"
      try context.output.line(
        DisplayText.visible("epoch \(epoch.number)  \(epoch.id.prefix(8))  made by \(maker)\(what)"))
      for device in epoch.devices {
        try context.output.line(DisplayText.visible("  device   \(shown(device))"))
      }
      for (replica, size) in epoch.revoked.sorted(by: { $0.key < $1.key }) {
        try context.output.line(
          DisplayText.visible("  revoked  \(shown(replica)), after commit \(size)"))
      }
    }
    if keys.epochs.isEmpty, !context.isJSON {
      try context.output.line(
        "encrypted; this device is admitted by the next sync with the encrypted folder or hub")
    }
    if let reason = keys.reasonOut {
      throw CommandError(.no, reason, hint: "\"heartlog keys join CODE\" takes the newest recovery code.")
    }
  }

  private static let notEncrypted = CommandError(
    .no, "the vault is not encrypted",
    hint: "\"heartlog keys init\", or \"heartlog sync folder:DIR --encrypted\", makes its first key.")
}
