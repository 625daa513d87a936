import Heartlog

/// `heartlog init`: a new, empty store.
struct InitCommand: Command {
  private static let name = Option.value(
    "name", "NAME", .text, "What people call this device. Without it, the host's name.")

  static let description = CommandDescription(
    name: "init", group: .store, summary: "make a new, empty store",
    options: [name],
    paragraphs: [
      "Makes the folder that --store names, or $HEARTLOG_STORE, or one in your data directory, and gives this device an "
        + "identity of its own in it. No other command ever makes a store."
    ],
    examples: [
      .init("heartlog init", "A store in your data directory."),
      .init(
        "heartlog --store ~/favorites.heartlog init --name \"Kitchen tablet\"", "One elsewhere, with a name."),
    ],
    endings: [.init(.cannotCreate, "There is something at that place already, or the folder cannot be made.")]
  )

  let name: String?

  init(_ arguments: Arguments) throws(CommandError) { name = arguments.text(Self.name) }

  func run(_ context: CommandContext) throws -> ExitCode {
    let directory = try context.storeDirectory()
    var options = StoreOptions()
    options.name = name ?? Terminal.hostName()
    try StoreFolder.makeParents(of: directory)
    do { try FavoritesStore.create(at: directory, options: options) } catch {
      guard error.code != .invalid, error.code != .diskFull else { throw error }
      throw CommandError(CommandError(error), exitCode: .cannotCreate)
    }
    context.untold.add("the new store \(directory)")
    let store = try context.openForReading()
    if context.isJSON {
      let status = try store.status()
      try context.jsonLine { StatusPage.write(status, to: &$0) }
    } else {
      let id = store.replica.description.prefix(EventLine.prefixDigits)
      try context.output.line(
        DisplayText.visible(
          "made \(directory) for \(options.name.isEmpty ? "this device" : options.name) (\(id))"))
    }
    return .success
  }
}
