import Heartlog
import HeartlogShipping

/// `heartlog sync`: this store and another know the same.
struct SyncCommand: Command {
  private static let peer = Argument(
    "PEER", .required, .peer,
    "The other store: its directory, folder:DIR, exec:COMMAND, or ssh://[user@]host[:port]/path.")
  private static let pull = Option.flag("pull", "Only receive; nothing is written at the peer's.")
  private static let dryRun = Option.flag("dry-run", "Write nothing; tell what would go each way.")
  private static let watch = Option.flag(
    "watch", "Go on until interrupted: whenever this store has changed, and now and then.")

  static let description = CommandDescription(
    name: "sync", group: .devices, summary: "bring this store and another to know the same",
    arguments: [peer], options: [pull, dryRun, watch],
    paragraphs: [
      "Each device's log is shipped as it is, those of third devices included, and replayed: both stores hold the same favorites "
        + "afterwards, with the last tap winning. A sync that breaks off goes on where it ended.",
      "folder:DIR is a folder that some program carries between devices, or a USB stick: each device leaves files there for the "
        + "others. exec:COMMAND runs a command that serves a store on its input and output; ssh:// runs \"heartlog serve "
        + "--stdio\" on another machine.",
    ],
    examples: [
      .init("heartlog sync ssh://anna@desk.local/~/favorites.heartlog", "With another machine."),
      .init("heartlog sync folder:Dropbox/heartlog --watch", "Through a folder in the cloud, all day."),
      .init("heartlog sync backup/favorites.heartlog --dry-run", "What would go each way."),
    ],
    endings: [
      .init(
        .badInput,
        "The peer sends what is no part of a sync, or one of the stores is damaged: what is sound arrived."),
      .init(.noStore, "There is no such store, folder or peer."),
      .init(.inputOutput, "The way to the peer broke."),
      .init(.tryAgain, "The peer was silent for 30 seconds, or a store is locked."),
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
    self.options = options
    watches = arguments.has(Self.watch)
    if watches, options.isDryRun { throw .usage("--watch with --dry-run would do nothing for ever") }
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    let run = SyncRun(context: context, peer: peer, peerText: peerText, options: options)
    return try watches ? run.watch() : run.once()
  }
}
