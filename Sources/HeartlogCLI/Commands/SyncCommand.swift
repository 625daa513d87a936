import Heartlog
import HeartlogShipping

/// `heartlog sync`: exchanges commits with another store.
struct SyncCommand: Command {
  private static let peer = Argument(
    "PEER", .required, .peer,
    "The other store: its directory, folder:DIR, exec:COMMAND, or ssh://[user@]host[:port]/path. Or a hub: https://host[:port][/VAULT]."
  )
  private static let pull = Option.flag("pull", "Only receive; write nothing at the peer.")
  private static let dryRun = Option.flag("dry-run", "Write nothing; report how much would go each way.")
  private static let encrypted = Option.flag(
    "encrypted", "Encrypt the vault, if it is not: folders and hubs get nothing else of it from now on.")
  private static let watch = Option.flag(
    "watch", "Sync until interrupted: whenever this store changes, and at regular intervals.")

  private static let deadline = Option.value(
    "deadline", "SECONDS", .count, "End after so many seconds, finished or not; what came is kept.")

  static let description = CommandDescription(
    name: "sync", group: .devices, summary: "exchange commits with another store",
    arguments: [peer], options: [pull, dryRun, .join, encrypted, watch, deadline],
    paragraphs: [
      "Each device's log is shipped unchanged, including those of third devices, and replayed. Afterwards both stores have the same "
        + "favorites; the last tap wins. An interrupted sync continues where it ended.",
      "folder:DIR is a folder that some program carries between devices, or that is on a USB stick: each device writes files there "
        + "for the others. exec:COMMAND runs a command that serves a store on its standard input and output. ssh:// runs \"heartlog "
        + "serve --stdio\" on another machine.",
      "https:// is a hub, a server that keeps what devices put there, and tells others at once with --watch. The first sync creates the "
        + "vault. A further device names it in the address, and one that is in it runs \"heartlog hub URL admit KEY\".",
      "This device signs its log with a key of its own first. Commits that another device has not signed are held until it does. Stores "
        + "that have synced with others belong to a vault; two vaults are mixed only with --join.",
      "With --encrypted, this device makes the keys of the vault, and whoever has the folder or the hub reads nothing. From then on that is so "
        + "without the option: \"heartlog keys\" admits and revokes devices.",
    ],
    examples: [
      .init("heartlog sync ssh://anna@desk.local/~/favorites.heartlog", "Sync with another machine."),
      .init(
        "heartlog sync folder:Dropbox/heartlog --watch", "Sync through a cloud folder until interrupted."),
      .init("heartlog sync https://hub.example.org --watch", "Sync through a hub until interrupted."),
      .init(
        "heartlog sync folder:Dropbox/heartlog --encrypted",
        "Sync through a folder that nobody else can read."),
      .init("heartlog sync backup/favorites.heartlog --dry-run", "Report how much would go each way."),
    ],
    endings: [
      .init(
        .badInput,
        "The peer violated the protocol, or one of the stores is damaged; sound streams were received."),
      .init(.no, "The hub does not admit this device yet."),
      .init(.noStore, "The store, the folder or the peer does not exist."),
      .init(.inputOutput, "The connection to the peer failed."),
      .init(
        .tryAgain, "The peer was silent for 30 seconds, a store is locked, or the deadline came first."),
    ])

  let peer: PeerAddress
  let peerText: String
  let options: SyncOptions
  let watches: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    peerText = arguments.text(Self.peer)
    peer = try PeerAddress(peerText)
    var options = SyncOptions()
    options.isPull = arguments.has(Self.pull)
    options.isDryRun = arguments.has(Self.dryRun)
    options.joinsVault = arguments.has(.join)
    options.encrypts = arguments.has(Self.encrypted)
    options.deadline = arguments.count(Self.deadline).map { .now + .seconds($0) }
    self.options = options
    watches = arguments.has(Self.watch)
    if options.encrypts {
      switch peer {
      case .folder, .hub: break
      case .store, .command, .ssh:
        throw .usage(
          "--encrypted can be used with folder:DIR and a hub only",
          hint: "The other ways are between two devices alone.")
      }
      if options.isDryRun { throw .usage("--encrypted cannot be used with --dry-run") }
      if options.isPull { throw .usage("--encrypted cannot be used with --pull") }
    }
    if watches, options.isDryRun { throw .usage("--watch cannot be used with --dry-run") }
    if watches, options.deadline != nil { throw .usage("--watch cannot be used with --deadline") }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let run = SyncRun(context: context, peer: peer, peerText: peerText, options: options)
    return try watches ? run.watch() : run.once()
  }
}
