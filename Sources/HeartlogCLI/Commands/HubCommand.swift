import Heartlog
import HeartlogSync
import HeartlogFormat

/// `heartlog hub`: shows and changes which devices a hub admits.
enum HubCommand: Command {
  private enum Action: String, CaseIterable {
    case list
    case admit
    case remove
  }

  private static let hub = Argument("URL", .required, .text, "The hub: https://host[:port][/prefix][/VAULT].")
  private static let action = Argument(
    "ACTION", .optional, .choice(Action.allCases.map(\.rawValue)),
    "\"list\" shows the keys that are admitted, \"admit\" admits another one, \"remove\" removes one. \"list\" if it is not given."
  )
  private static let key = Argument(
    "KEY", .optional, .text,
    "The key of a device, as its own sync with the hub shows it: 64 hexadecimal digits.")

  static let description = CommandDescription(
    name: "hub", group: .devices, summary: "show and change which devices a hub admits",
    arguments: [hub, action, key],
    page: #"""
      A hub knows the devices of a vault by their keys. The device that creates the vault is admitted. Any other one shows its key when it syncs
      with the hub's address and the vault. Compare it with what you type: who is admitted can read what is at the hub, unless the vault is
      encrypted, and can write there.

      A device that was removed keeps what it has. "heartlog devices retire" marks it for the others.

      heartlog hub https://hub.example.org  # List the devices that are admitted.
      heartlog hub https://hub.example.org admit 5f1c0a9e7b3d2846c1f0e9d8b7a6958473625140f9e8d7c6b5a4938271605f4e  # Let a new device in.

      Exit code 1: The hub does not admit this device.
      Exit code 65: There is no hub at this address, or it refused.
      """#)

  private static let keyHint =
    "A key has 64 hexadecimal digits. The device itself shows it when it syncs with the hub's address and the vault."

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let address = try PeerAddress.hub(arguments.text(Self.hub))
    let action = arguments.optionalText(Self.action).flatMap(Action.init) ?? .list
    let text = arguments.optionalText(Self.key)
    let key = text.flatMap(Hexadecimal.bytes).flatMap { PublicKey(bytes: $0) }
    guard (action == .list) == (text == nil) else {
      throw action == .list
        ? misused("\"list\" takes no KEY")
        : CommandError.usage("\"\(action.rawValue)\" needs the KEY of a device", hint: keyHint)
    }
    if let text, key == nil { throw CommandError.usage("\(Quoted(text)) is not a key", hint: keyHint) }
    if let warning = PeerAddress.hub(address).warning { context.warn(warning) }
    let store = try context.openForReading()
    guard let vault = address.vault ?? store.vaultID else {
      throw CommandError.usage("this store has no vault yet", hint: "Sync it with the hub first.")
    }
    let hub = try HubCarrier(address.description)
    let keys =
      switch (action, key) {
      case (.admit, let key?): try hub.admit(key, for: store)
      case (.remove, let key?): try hub.remove(key, for: store)
      default: try hub.admittedKeys(for: store)
      }
    let names = store.deviceNames
    let own = store.replica
    let shown: [JSONObject] = keys.map {
      ["key": $0, "replica": $0.replica, "name?": names[$0.replica], "isOwn": $0.replica == own]
    }
    let lines = keys.map { key in
      let name = names[key.replica] ?? "not seen yet"
      let remark = key.replica == own ? ", this device" : ""
      return DisplayText.visible("\(key) \(key.replica.short) \(name)\(remark)")
    }
    try context.show(
      ["hub": address.base, "vault": vault, "keys": shown],
      ["vault \(vault), for other devices \(address.address(of: vault))"] + lines)
    return .success
  }
}
