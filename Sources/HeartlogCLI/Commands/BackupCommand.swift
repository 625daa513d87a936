import Heartlog
import HeartlogSync

/// `heartlog backup`: copies the store while others write it.
enum BackupCommand: Command {
  private static let target = Argument(
    "BACKUP", .required, .directory, "A folder, or a file if its name ends in .backup.")
  private static let check = Option.flag("check", "Write nothing; check a backup. No store is needed.")

  static let description = CommandDescription(
    name: "backup", group: .check, summary: "copy the store while others write it",
    arguments: [target], options: [check],
    page: #"""
      Everything that was acknowledged and durable when the command began is in the copy. A folder that has a backup of the same store receives
      what is new; a file is replaced. At the end the copy is read again, and must lead to the same roots and digest. An interrupted backup is
      continued by the next one. The device's key is never in a backup.

      To make a store of it, use "heartlog restore-backup".

      heartlog backup /media/stick/favorites  # Copy to a folder, or add what is new.
      heartlog backup favorites.backup  # Copy to one file.
      heartlog backup --check favorites.backup  # Check a backup.

      Exit code 64: There is a store or something else at the path, or a backup of another store.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let path = arguments.text(Self.target)
    if arguments.has(Self.check) {
      let report = try context.onBackup { () throws(HeartlogError) in
        try FavoritesStore.checkBackup(at: path)
      }
      try context.show(report, "\(path) is sound")
      return .success
    }
    let store = try context.openForReading()
    let report = try context.onBackup { () throws(HeartlogError) in try store.backup(to: path) }
    let new =
      report.newCommits == 0
      ? "nothing new"
      : "\(Quantity.count(report.newCommits, "new commit")), \(Quantity.size(bytes: report.writtenBytes)) written"
    try context.show(report, "backed up to \(path): \(new)", separator: ";")
    return .success
  }
}

/// `heartlog restore-backup`: makes a store of a backup.
enum RestoreBackupCommand: Command {
  private static let backup = Argument("BACKUP", .required, .directory, "What \"heartlog backup\" wrote.")
  private static let folder = Argument("DIR", .required, .directory, "Where to make the store.")

  static let description = CommandDescription(
    name: "restore-backup", group: .check, summary: "make a store of a backup",
    arguments: [backup, folder], options: [.deviceName],
    page: #"""
      The store is a new device in the same vault, with a key of its own. What the device of the backup wrote is in it as what another device
      wrote; if that device is still there, the two sync like any others. The backup is checked first and does not change.

      heartlog restore-backup favorites.backup ~/favorites.heartlog  # Make a store of a backup.
      heartlog restore-backup /media/stick/favorites restored --name "New phone"  # Make one elsewhere, and name the device.

      Exit code 65: The backup is damaged; nothing was made.
      """#)

  static func run(_ arguments: Arguments, _ context: CommandContext) throws -> ExitCode {
    let (backup, folder) = (arguments.text(Self.backup), arguments.text(Self.folder))
    let options = StoreOptions(named: arguments.text(.deviceName))
    let report = try context.onBackup { () throws(HeartlogError) in
      try FavoritesStore.restoreBackup(at: backup, to: folder, options: options)
    }
    context.unreported.add("the restored store \(folder)")
    try context.show(report, "restored \(folder)", store: folder)
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

  /// Prints what was done, and what the backup contains.
  fileprivate func show(
    _ report: BackupReport, _ what: String, separator: String = ":", store: String? = nil
  ) throws {
    let contents =
      "\(Quantity.count(report.events, "event")) in \(Quantity.count(report.commits, "commit")) of "
      + Quantity.count(report.streams, "device")
    var json: JSONObject = [
      "store?": store, "streams": report.streams, "commits": report.commits, "events": report.events,
      "digest": report.digest,
    ]
    if store == nil { json += ["newCommits": report.newCommits, "writtenBytes": report.writtenBytes] }
    try show(json, [DisplayText.visible("\(what)\(separator) \(contents)"), "digest \(report.digest)"])
  }
}
