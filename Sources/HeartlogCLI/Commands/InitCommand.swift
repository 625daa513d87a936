import Heartlog

/// `heartlog init`: creates a new, empty store.
struct InitCommand: Command {
  private static let name = Option.value(
    "name", "NAME", .text, "The name of this device. Default: the name of the host.")

  static let description = CommandDescription(
    name: "init", group: .store, summary: "create a new, empty store",
    options: [name],
    paragraphs: [
      "Creates the folder that --store or $HEARTLOG_STORE names, or else one in your data directory, and gives this device "
        + "its own identity in it. No other command creates a store."
    ],
    examples: [
      .init("heartlog init", "Create a store in your data directory."),
      .init(
        "heartlog --store ~/favorites.heartlog init --name \"Kitchen tablet\"",
        "Create one elsewhere, and name the device."),
    ],
    endings: [.init(.cannotCreate, "The path is already taken, or the folder cannot be created.")]
  )

  let name: String?

  init(_ arguments: Arguments) throws(CommandError) { name = arguments.text(Self.name) }

  func run(_ context: CommandContext) throws -> ExitCode {
    let directory = try context.storeDirectory()
    var options = StoreOptions()
    options.name = name ?? Terminal.hostName()
    do { try FavoritesStore.create(at: directory, options: options) } catch {
      guard ![.invalid, .diskFull, .locked].contains(error.code) else { throw error }
      throw CommandError(CommandError(error), exitCode: .cannotCreate)
    }
    context.untold.add("the new store \(directory)")
    let store = try context.openForReading()
    if context.isJSON {
      let status = try store.status()
      try context.jsonLine { StatusPage.write(status, vault: store.vault?.id, to: &$0) }
    } else {
      let id = store.replica.description.prefix(EventLine.prefixDigits)
      try context.output.line(
        DisplayText.visible(
          "created \(directory) for \(options.name.isEmpty ? "this device" : options.name) (\(id))"))
    }
    return .success
  }
}
