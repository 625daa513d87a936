import Heartlog
import HeartlogShipping

/// `heartlog backup`: copies the store while others write it.
struct BackupCommand: Command {
  private static let target = Argument(
    "BACKUP", .required, .directory, "A folder, or a file if its name ends in .backup.")
  private static let check = Option.flag("check", "Write nothing; check a backup. No store is needed.")

  static let description = CommandDescription(
    name: "backup", group: .check, summary: "copy the store while others write it",
    arguments: [target], options: [check],
    paragraphs: [
      "Everything that was acknowledged and durable when the command began is in the copy. A folder that has a backup of the same "
        + "store receives what is new; a file is replaced. At the end the copy is read again, and must lead to the same roots and digest. "
        + "An interrupted backup is continued by the next one. The device's key is never in a backup.",
      "To make a store of it, use \"heartlog restore-backup\".",
    ],
    examples: [
      .init("heartlog backup /media/stick/favorites", "Copy to a folder, or add what is new."),
      .init("heartlog backup favorites.backup", "Copy to one file."),
      .init("heartlog backup --check favorites.backup", "Check a backup."),
    ],
    endings: [
      .init(.usage, "There is a store or something else at the path, or a backup of another store."),
      .init(.badInput, "The store or the backup is damaged."),
      .init(.noStore, "The store or the backup does not exist."),
      .init(.tryAgain, "Another process is writing the backup."),
    ])

  let path: String
  let isCheck: Bool

  init(_ arguments: Arguments) throws(CommandError) {
    path = arguments.text(Self.target)
    isCheck = arguments.has(Self.check)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    if isCheck {
      let report = try context.onBackup { () throws(HeartlogError) in try FavoritesStore.checkBackup(at: path)
      }
      try context.tell(report, "\(path) is sound: \(BackupPage.contents(report))", store: nil)
      return .success
    }
    let store = try context.openForReading()
    let report = try context.onBackup { () throws(HeartlogError) in try store.backUp(to: path) }
    let new =
      report.newCommits == 0
      ? "nothing new"
      : "\(Quantity.count(report.newCommits, "new commit")), \(Quantity.size(bytes: report.writtenBytes)) written"
    try context.tell(report, "backed up to \(path): \(new); \(BackupPage.contents(report))", store: nil)
    return .success
  }
}

/// `heartlog restore-backup`: makes a store of a backup.
struct RestoreBackupCommand: Command {
  private static let backup = Argument("BACKUP", .required, .directory, "What \"heartlog backup\" wrote.")
  private static let folder = Argument("DIR", .required, .directory, "Where to make the store.")
  private static let name = Option.value(
    "name", "NAME", .text, "The name of this device. Default: the name of the host.")

  static let description = CommandDescription(
    name: "restore-backup", group: .check, summary: "make a store of a backup",
    arguments: [backup, folder], options: [name],
    paragraphs: [
      "The store is a new device in the same vault, with a key of its own. What the device of the backup wrote is in it as what another "
        + "device wrote; if that device is still there, the two sync like any others. The backup is checked first and does not change."
    ],
    examples: [
      .init(
        "heartlog restore-backup favorites.backup ~/favorites.heartlog", "Make a store of a backup."),
      .init(
        "heartlog restore-backup /media/stick/favorites restored --name \"New phone\"",
        "Make one elsewhere, and name the device."),
    ],
    endings: [
      .init(.badInput, "The backup is damaged; nothing was made."),
      .init(.noStore, "There is no finished backup."),
      .init(.cannotCreate, "There already is something at DIR, or it cannot be created."),
    ])

  let backup: String
  let folder: String
  let name: String?

  init(_ arguments: Arguments) throws(CommandError) {
    backup = arguments.text(Self.backup)
    folder = arguments.text(Self.folder)
    name = arguments.text(Self.name)
  }

  func run(_ context: CommandContext) throws -> ExitCode {
    var options = StoreOptions()
    options.name = name ?? Terminal.hostName()
    options.origin = CommandContext.origin
    let restored = options
    let report = try context.onBackup { () throws(HeartlogError) in
      try FavoritesStore.restoreBackup(at: backup, to: folder, options: restored)
    }
    context.untold.add("the restored store \(folder)")
    try context.tell(report, "restored \(folder): \(BackupPage.contents(report))", store: folder)
    return .success
  }
}

extension CommandContext {
  /// Runs work on a backup, whose errors have hints of their own.
  fileprivate func onBackup<R>(_ body: () throws(HeartlogError) -> R) throws -> R {
    do throws(HeartlogError) { return try body() } catch {
      switch error.code {
      case .notFound: throw CommandError(.noStore, error.message, hint: "\"heartlog backup\" makes one.")
      case .exists: throw CommandError(.cannotCreate, error.message, hint: "Choose another folder.")
      case .invalid: throw CommandError(.usage, error.message, hint: "Choose another path.")
      case .corrupt where error.message.hasPrefix("the backup"):
        throw CommandError(
          .badInput, error.message, at: error.file,
          hint: "Back up to another path, or remove the damaged file and back up again.")
      default: throw error
      }
    }
  }

  fileprivate func tell(_ report: BackupReport, _ line: String, store: String?) throws {
    guard isJSON else {
      try output.line(DisplayText.visible(line))
      return try output.line("digest \(report.digest)")
    }
    try jsonLine { json in
      if let store { json.member("store", store) }
      json.member("streams", report.streams)
      json.member("commits", report.commits)
      json.member("events", report.events)
      json.member("digest", report.digest.description)
      if store == nil {
        json.member("newCommits", report.newCommits)
        json.member("writtenBytes", report.writtenBytes)
      }
    }
  }
}

/// The words for what a backup contains.
private enum BackupPage {
  static func contents(_ report: BackupReport) -> String {
    "\(Quantity.count(report.events, "event")) in \(Quantity.count(report.commits, "commit")) of "
      + "\(Quantity.count(report.streams, "device"))"
  }
}
