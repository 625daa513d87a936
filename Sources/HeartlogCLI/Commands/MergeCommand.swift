import Heartlog
import HeartlogShipping

/// `heartlog merge`: receives the commits of another store.
struct MergeCommand: Command {
  private static let store = Argument("STORE", .required, .directory, "The directory of the other store.")
  private static let dryRun = Option.flag("dry-run", "Write nothing; report what would be received.")

  static let description = CommandDescription(
    name: "merge", group: .devices, summary: "receive the commits of another store",
    arguments: [store], options: [dryRun],
    paragraphs: [
      "The same as \"heartlog sync STORE --pull\". The other store may be a backup, or on a read-only disk."
    ],
    examples: [
      .init("heartlog merge /media/stick/favorites.heartlog", "Receive from a store on a USB stick.")
    ],
    endings: [
      .init(.badInput, "One of the stores is damaged; the sound part of the other one was received."),
      .init(.noStore, "The store does not exist."),
    ])

  let path: String
  let options: SyncOptions

  init(_ arguments: Arguments) throws(CommandError) {
    path = arguments.text(Self.store)
    var options = SyncOptions()
    options.isPull = true
    options.isDryRun = arguments.has(Self.dryRun)
    self.options = options
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    try SyncRun(context: context, peer: .store(path), peerText: path, options: options).once()
  }
}
