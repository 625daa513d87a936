import HeartlogEvents
import HeartlogFiles
import HeartlogStorage

extension FavoritesStore {
  /// Makes anew what stands beside the log's segments and is damaged: the file `store`, which says who writes, and the ends of forked
  /// streams. Where `HeartlogError/isRepairable` is true of an error, this is what mends it.
  ///
  /// It asks for nothing that the streams tell. Where nothing proves that the folder is no copy, the store goes on under a new identity:
  /// nothing is lost by that, and no number is used twice. Every original is kept beside what takes its place. Segments are left alone, and
  /// those that are damaged are named. A sound store is left as it is.
  ///
  /// - Parameters:
  ///   - path: the folder of the store. A store of this process that is open there takes it in with its next write or `refresh()`.
  ///   - name: what people call this device, where `store` is made anew; nil for what the streams say.
  ///   - isDryRun: only says what would be done.
  ///   - progress: told now and then how many bytes of how many were read, on the calling thread.
  /// - Throws: `HeartlogError`; `notAStore`, `newerFormat`, `readOnly`, `locked`, `diskFull`, `inputOutput`, `invalid` for a name that no
  ///   replica may have. After each of them the store is as before, or mended in part.
  public static func repair(
    at path: String, name: String? = nil, isDryRun: Bool = false, progress: LogProgress? = nil
  ) throws(HeartlogError) -> RepairReport {
    try heartlogErrors {
      RepairReport(
        try StoreRepair.run(
          at: path, on: POSIXFileSystem(), name: name, isDryRun: isDryRun, progress: progress))
    }
  }
}

/// What repairing a store did, or would do.
public struct RepairReport: Sendable {
  /// One file that is damaged, or was.
  public struct Entry: Sendable {
    /// Its path.
    public let file: String
    /// What is wrong with it: a phrase.
    public let damage: String
    /// What was done about it, or would be; or why it was left alone: a phrase.
    public let outcome: String
    /// Whether it is mended, or would be.
    public let isMended: Bool
    /// Where the original is kept; nil where it was not replaced, or there was none, or where nothing was done yet.
    public let keptAt: String?
  }

  /// Only looked, and changed nothing.
  public let isDryRun: Bool
  /// In the order in which they were mended; empty for a sound store.
  public let entries: [Entry]
  /// Who writes to the store now; nil where a dry run would draw a new identity.
  public let replica: ReplicaID?
  /// What people call this replica.
  public let name: String
  /// Whose stream the store wrote before, where it goes on under another identity, and that is known.
  public let formerReplica: ReplicaID?

  /// Nothing is left, or would be, that is damaged.
  public var isSound: Bool { entries.allSatisfy(\.isMended) }

  init(_ report: HeartlogStorage.RepairReport) {
    isDryRun = report.isDryRun
    entries = report.entries.map {
      Entry(file: $0.file, damage: $0.damage, outcome: $0.outcome, isMended: $0.isMended, keptAt: $0.keptAt)
    }
    replica = report.replica
    name = report.name
    formerReplica = report.formerReplica
  }
}
