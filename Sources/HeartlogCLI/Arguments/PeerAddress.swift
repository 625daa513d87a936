import Heartlog
import HeartlogFiles
import HeartlogSync

/// A PEER as it was given on the command line, or as a store remembers it.
struct Peer: Hashable, Sendable {
  let text: String
  let endpoint: String?
  let isInsecure: Bool
  let address: PeerAddress

  init(_ text: String, endpoint: String? = nil, isInsecure: Bool = false) throws(CommandError) {
    (self.text, self.endpoint, self.isInsecure) = (text, endpoint, isInsecure)
    address = try PeerAddress(text, endpoint: endpoint, isInsecure: isInsecure)
    guard endpoint != nil || isInsecure else { return }
    guard case .storage = address else {
      throw .usage("--endpoint and --insecure can be used with dav:// and s3:// only")
    }
  }

  /// The PEER of a command line; `nil` if it names none.
  init?(_ arguments: Arguments, _ argument: Argument) throws(CommandError) {
    let (endpoint, isInsecure) = (arguments.text(SyncCommand.endpoint), arguments.has(SyncCommand.insecure))
    guard let text = arguments.optionalText(argument) else {
      guard endpoint == nil, !isInsecure else {
        throw .usage("--endpoint and --insecure can be used with dav:// and s3:// only")
      }
      return nil
    }
    try self.init(text, endpoint: endpoint, isInsecure: isInsecure)
  }
}

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
  /// A WebDAV share or a bucket.
  case storage(String, endpoint: String? = nil, isInsecure: Bool = false)

  /// - Parameters:
  ///   - endpoint: where a bucket is.
  ///   - isInsecure: whether storage may be asked without TLS.
  init(_ text: String, endpoint: String? = nil, isInsecure: Bool = false) throws(CommandError) {
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
    } else if StorageAddress.schemes.contains(where: text.hasPrefix) {
      do { _ = try StorageAddress(text, endpoint: endpoint) } catch { throw .usage(error.message) }
      self = .storage(text, endpoint: endpoint, isInsecure: isInsecure)
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

  /// How long `--watch` waits between syncs, in milliseconds: longer if each sync starts a command, and at servers that count requests longer
  /// and longer as long as nothing comes.
  var pauses: Backoff {
    switch self {
    case .store, .folder: Backoff(first: 3_000, largest: 3_000)
    case .command, .ssh: Backoff(first: 20_000, largest: 20_000)
    case .hub: Backoff(first: 300_000, largest: 300_000)
    case .storage: Backoff(first: 60_000, largest: 600_000)
    }
  }

  /// How long `--watch` waits at least before it sends what was written here. A round with one commit takes 7.25 requests, merged files
  /// included, and some servers allow 600 in 30 minutes.
  var pauseMin: Int { if case .storage = self { 30_000 } else { 0 } }

  /// Whether the peer is a place that keeps objects for several devices, and not a device.
  var isPlace: Bool { place != nil }

  /// Where objects are, if the peer is a place for them.
  var place: String? {
    switch self {
    case .folder: "in the folder"
    case .hub: "at the hub"
    case .storage: "at the server"
    case .store, .command, .ssh: nil
    }
  }

  /// What a person should know of the way to the peer; nil if there is nothing.
  var warning: String? {
    guard case .hub(let address) = self, !address.origin.isEncrypted, !address.origin.isLoopback else {
      return nil
    }
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
    case .storage(let text, let endpoint, let isInsecure):
      let stored = StoredCredentials(environment: context.environment, fileSystem: POSIXFileSystem())
      let address =
        text.hasPrefix("s3:")
        ? try StorageAddress(text, endpoint: endpoint ?? stored.endpoint, region: try stored.region())
        : try StorageAddress(text)
      guard address.origin.isEncrypted || address.origin.isLoopback || isInsecure else {
        throw CommandError.usage(
          "the connection to \(address.origin.host) is not encrypted: whoever is on the way can read the password and what is not encrypted itself",
          hint: "Use davs:// or https://, or say --insecure.")
      }
      return StorageCarrier(address, credentials: try stored.credentials(for: address))
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
