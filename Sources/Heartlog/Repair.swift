import HeartlogEvents
import HeartlogFiles
import HeartlogStorage

extension FavoritesStore {
  /// Rebuilds damaged files: the file `store`, which holds the store's identity, the ends of forked streams, and segments of which
  /// everything can be read all the same. If an error's ``HeartlogError/isRepairable`` is true, this repairs it.
  ///
  /// Everything the streams contain is taken from them. Unless there is proof that the folder is not a copy, the store continues under a
  /// new identity, so that no number is used twice; nothing is lost. Every original is kept beside its replacement. Segments that lost
  /// commits are only reported: `HeartlogShipping` mends them from another copy. An undamaged store is left as it is.
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
    try repair(at: path, on: POSIXFileSystem(), name: name, isDryRun: isDryRun, progress: progress)
  }

  /// As `repair(at:name:isDryRun:progress:)`. Damaged streams are mended with what another copy has of them.
  ///
  /// - Parameters:
  ///   - source: from where `fill` receives, as shown to people.
  ///   - fill: receives commits, as a sync does, into a store in memory, where the damaged streams end before their first bad byte. Returns
  ///     why commits of streams were not received, as phrases. Not called unless a stream is damaged.
  package static func repair(
    at path: String, on fileSystem: any FileSystem, name: String? = nil, isDryRun: Bool = false,
    options: StoreOptions = StoreOptions(), progress: LogProgress? = nil, from source: String? = nil,
    filling fill: ((FavoritesStore) throws(HeartlogError) -> [ReplicaID: String])? = nil
  ) throws(HeartlogError) -> RepairReport {
    // Errors of a source are told as they are.
    var failure: HeartlogError?
    do throws(HeartlogError) {
      return try heartlogErrors {
        RepairReport(
          try StoreRepair.run(
            at: path, on: fileSystem, options: options.storage, name: name, isDryRun: isDryRun,
            takesContent: fill != nil, progress: progress
          ) {
            do throws(HeartlogError) {
              return try copyStreams(of: path, on: fileSystem, from: source, filling: fill)
            } catch {
              failure = error
              throw error
            }
          })
      }
    } catch {
      throw failure ?? error
    }
  }

  /// Copies what can be read of a store's streams to a store in memory, and completes it there.
  private static func copyStreams(
    of path: String, on fileSystem: any FileSystem, from source: String?,
    filling fill: ((FavoritesStore) throws(HeartlogError) -> [ReplicaID: String])?
  ) throws(HeartlogError) -> StreamCopies {
    var options = StoreOptions()
    // It signs nothing, and belongs to no vault.
    options.deviceKey = .none
    options.changeStorage = { $0.sealsInBackground = false }
    let copy = try inMemory(options: options)
    let salvage = try heartlogErrors { try Salvage(of: path, on: fileSystem, to: copy.log) }
    try heartlogErrors { try salvage.begin() }
    let reasons = try fill?(copy) ?? [:]
    let streams = try heartlogErrors { try salvage.finish(branches: false) }
    try copy.close()
    return StreamCopies(
      at: copy.path, on: copy.fileSystem, from: source, streams, reasons: reasons)
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
