import Heartlog
import HeartlogShipping

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A PEER: where another store is, and the way there.
enum PeerAddress: Hashable, Sendable {
  /// Another store's directory on this machine.
  case store(String)
  /// A folder that some program carries to other machines.
  case folder(String)
  /// A command that serves a store.
  case command(String)
  case ssh(SSHAddress)

  init(_ text: String) throws(CommandError) {
    if text.hasPrefix("folder:") {
      self = .folder(try Self.rest(text, "folder:", "folder:DIR"))
    } else if text.hasPrefix("exec:") {
      self = .command(try Self.rest(text, "exec:", "exec:COMMAND"))
    } else if text.hasPrefix("ssh:") {
      do { self = .ssh(try SSHAddress(text)) } catch {
        throw .usage(error.message, hint: "Write it as ssh://[user@]host[:port]/path.")
      }
    } else if text.isEmpty {
      throw .usage("PEER is empty")
    } else {
      self = .store(text)
    }
  }

  private static func rest(_ text: String, _ prefix: String, _ form: String) throws(CommandError) -> String {
    let rest = String(text.dropFirst(prefix.utf8.count))
    guard !rest.isEmpty else { throw .usage("\(Quoted(text)) is incomplete", hint: "Write \(form).") }
    return rest
  }

  /// How long `--watch` waits for something new from there, in milliseconds: a command is started for each look.
  var pauseMilliseconds: UInt32 {
    switch self {
    case .store, .folder: 3_000
    case .command, .ssh: 20_000
    }
  }

  /// The way there. A store's directory is opened for it.
  ///
  /// - Parameter endsSoon: as for `openForWriting`.
  func carrier(_ context: CommandContext, endsSoon: Bool) throws -> any Carrier {
    switch self {
    case .folder(let path): return FolderCarrier(path)
    case .command(let command): return try CommandCarrier.shell(command)
    case .ssh(let address): return CommandCarrier.ssh(address, program: context.environment["HEARTLOG_SSH"])
    case .store(let path):
      guard try !Self.isSame(path, context.storeDirectory()) else {
        throw CommandError.usage("a store cannot be synced with itself")
      }
      let (peer, isReadOnly) = try Self.open(path, endsSoon: endsSoon)
      context.opened.add(peer)
      return StoreCarrier(peer, description: path, isReadOnly: isReadOnly)
    }
  }

  /// A store that is damaged, or on a disk that cannot be written, can still be pulled from.
  private static func open(
    _ path: String, endsSoon: Bool
  ) throws(HeartlogError) -> (FavoritesStore, isReadOnly: Bool) {
    var options = StoreOptions()
    options.origin = CommandContext.origin
    if endsSoon { options.snapshots.eventsMin = .max }
    if access(path, W_OK) == 0 {
      do throws(HeartlogError) {
        return (try FavoritesStore.open(at: path, options: options, progress: nil), false)
      } catch {
        guard error.code == .readOnly else { throw error }
      }
    }
    options.access = .readOnly
    return (try FavoritesStore.open(at: path, options: options, progress: nil), true)
  }

  private static func isSame(_ one: String, _ other: String) -> Bool {
    guard let one = realpath(one, nil) else { return false }
    defer { free(one) }
    guard let other = realpath(other, nil) else { return false }
    defer { free(other) }
    return strcmp(one, other) == 0
  }
}
