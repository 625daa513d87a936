import HeartlogEvents
import HeartlogFiles
import HeartlogStorage

extension FavoritesStore {
  /// Rebuilds damaged files beside the log's segments: the file `store`, which holds the store's identity, and the ends of forked streams.
  /// If an error's ``HeartlogError/isRepairable`` is true, this repairs it.
  ///
  /// Everything the streams contain is taken from them. Unless there is proof that the folder is not a copy, the store continues under a
  /// new identity, so that no number is used twice; nothing is lost. Every original is kept beside its replacement. Segments are never
  /// changed; damaged ones are only reported. An undamaged store is left as it is.
  ///
  /// - Parameters:
  ///   - path: the folder of the store. If this process has the store open, it picks up the repair with its next write or `refresh()`.
  ///   - name: the display name of this device, if `store` is rebuilt; nil to take it from the streams.
  ///   - isDryRun: only reports what would be done.
  ///   - progress: called from time to time on the calling thread, with the bytes read so far and in total.
  /// - Throws: `HeartlogError`; `notAStore`, `newerFormat`, `readOnly`, `locked`, `diskFull`, `inputOutput`, `invalid` for an invalid
  ///   replica name. After any of these the store is unchanged or partly repaired.
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

/// What a repair did, or would do.
public struct RepairReport: Sendable {
  /// A file that is or was damaged.
  public struct Entry: Sendable {
    /// The path of the file.
    public let file: String
    /// What is wrong with it, as a phrase.
    public let damage: String
    /// What was or would be done about it, or why it was left alone, as a phrase.
    public let outcome: String
    /// Whether it is or would be repaired.
    public let isMended: Bool
    /// The path of the kept original; nil if nothing was replaced, there was no original, or this was a dry run.
    public let keptAt: String?
  }

  /// Whether this was a dry run, which changes nothing.
  public let isDryRun: Bool
  /// In the order of repair; empty for an undamaged store.
  public let entries: [Entry]
  /// The replica that the store writes as now; nil if a dry run would draw a new identity.
  public let replica: ReplicaID?
  /// The display name of this replica.
  public let name: String
  /// The replica that the store wrote as before, if it changed and is known.
  public let formerReplica: ReplicaID?

  /// Whether all damage is or would be repaired.
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
