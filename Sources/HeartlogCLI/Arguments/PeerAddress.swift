import Heartlog
import HeartlogSync

/// A PEER: the address of another store.
enum PeerAddress: Hashable, Sendable {
  /// The directory of another store on this machine.
  case store(String)
  /// A folder that another program carries to other machines.
  case folder(String)
  /// A command that serves a store.
  case command(String)
  case ssh(SSHAddress)
  /// A hub, and perhaps a vault there.
  case hub(HubAddress)

  init(_ text: String) throws(CommandError) {
    if text.hasPrefix("folder:") {
      self = .folder(try Self.rest(text, "folder:", "folder:DIR"))
    } else if text.hasPrefix("exec:") {
      self = .command(try Self.rest(text, "exec:", "exec:COMMAND"))
    } else if text.hasPrefix("ssh:") {
      do { self = .ssh(try SSHAddress(text)) } catch {
        throw .usage(error.message, hint: "Write it as ssh://[user@]host[:port]/path.")
      }
    } else if text.hasPrefix("https:") || text.hasPrefix("http:") {
      self = .hub(try Self.hub(text))
    } else if text.isEmpty {
      throw .usage("PEER is empty")
    } else {
      self = .store(text)
    }
  }

  static func hub(_ text: String) throws(CommandError) -> HubAddress {
    do { return try HubAddress(text) } catch {
      throw .usage(error.message, hint: "Write it as https://host[:port][/prefix][/VAULT].")
    }
  }

  private static func rest(_ text: String, _ prefix: String, _ form: String) throws(CommandError) -> String {
    let rest = String(text.dropFirst(prefix.utf8.count))
    guard !rest.isEmpty else { throw .usage("\(Quoted(text)) is incomplete", hint: "Write \(form).") }
    return rest
  }

  /// How long `--watch` waits between syncs, in milliseconds; longer if each sync starts a command.
  var pauseMilliseconds: UInt32 {
    switch self {
    case .store, .folder: 3_000
    case .command, .ssh: 20_000
    case .hub: 300_000
    }
  }

  /// Where objects are, if the peer is a place for them.
  var place: String { if case .hub = self { "at the hub" } else { "in the folder" } }

  /// What a person should know of the way to the peer; nil if there is nothing.
  var warning: String? {
    guard case .hub(let address) = self, !address.isEncrypted, !address.isLoopback else { return nil }
    return "the connection to \(address.host) is not encrypted: whoever is on the way can read what is not "
      + "encrypted itself. Use https://."
  }

  /// The carrier for this peer. Opens the store of a directory.
  ///
  /// - Parameter endsSoon: as for `openForWriting`.
  func carrier(_ context: CommandContext, endsSoon: Bool) throws -> any Carrier {
    switch self {
    case .folder(let path): return FolderCarrier(path)
    case .hub(let address):
      return try HubCarrier(
        address.description, invitation: context.environment["HEARTLOG_HUB_INVITATION"])
    case .command(let command): return try CommandCarrier.shell(command)
    case .ssh(let address): return CommandCarrier.ssh(address, program: context.environment["HEARTLOG_SSH"])
    case .store(let path):
      guard try !Self.isSame(path, context.storeDirectory()) else {
        throw CommandError.usage("a store cannot be synced with itself")
      }
      var options = StoreOptions()
      options.origin = CommandContext.origin
      if endsSoon { options.snapshots.eventsMin = .max }
      let peer = try FavoritesStore.openPeer(at: path, options: options)
      context.opened.add(peer)
      return StoreCarrier(peer)
    }
  }

  private static func isSame(_ one: String, _ other: String) -> Bool {
    guard let one = realpath(one, nil) else { return false }
    defer { free(one) }
    guard let other = realpath(other, nil) else { return false }
    defer { free(other) }
    return strcmp(one, other) == 0
  }
}
