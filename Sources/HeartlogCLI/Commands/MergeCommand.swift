import Heartlog
import HeartlogShipping

/// `heartlog merge`: takes in what another store knows.
struct MergeCommand: Command {
  private static let store = Argument("STORE", .required, .directory, "The other store's directory.")
  private static let dryRun = Option.flag("dry-run", "Write nothing; tell what would come.")

  static let description = CommandDescription(
    name: "merge", group: .devices, summary: "take in what another store knows",
    arguments: [store], options: [dryRun],
    paragraphs: [
      "The same as \"heartlog sync STORE --pull\": the other store may be a backup, or on a disk that cannot be written."
    ],
    examples: [.init("heartlog merge /media/stick/favorites.heartlog", "What the other device knows.")],
    endings: [
      .init(.badInput, "One of the stores is damaged: what is sound of the other arrived."),
      .init(.noStore, "There is no such store."),
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
