import HeartlogFiles
import HeartlogStorage

extension FavoritesStore {
  /// Whether other users of this machine may read the store in a folder, or hold its lock. Stores are made for their owner alone; one that
  /// an older Heartlog made is closed to others by its next write.
  ///
  /// - Throws: `inputOutput` where that cannot be found out. False where there is no store, or where it belongs to somebody else.
  public static func isOpenToOthers(at path: String) throws(HeartlogError) -> Bool {
    try heartlogErrors { try CommitLog.isOpenToOthers(at: path, on: POSIXFileSystem()) }
  }

  /// Whether other users of the machine could read the store, or hold its lock, until this object first wrote to it: now they cannot.
  public var wasOpenToOthers: Bool { log.hasTakenPermissions }
}
