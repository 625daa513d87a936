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
      try StoreRepair.run(
        at: path, on: POSIXFileSystem(), name: name, isDryRun: isDryRun, progress: progress)
    }
  }
}

/// What repairing a store did, or would do.
public typealias RepairReport = HeartlogStorage.RepairReport
