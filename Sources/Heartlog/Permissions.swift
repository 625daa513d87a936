import HeartlogFiles
import HeartlogStorage

extension FavoritesStore {
  /// Returns whether other users of this machine can read the store in a folder, or hold its lock. Stores are created for their owner only.
  /// The next write to a store that an older Heartlog created removes the access of others.
  ///
  /// - Returns: whether they can; false also if there is no store, or if it belongs to another user.
  /// - Throws: `inputOutput` if the permissions cannot be read.
  public static func isOpenToOthers(at path: String) throws(HeartlogError) -> Bool {
    try CommitLog.isOpenToOthers(at: path, on: POSIXFileSystem())
  }

  /// Whether other users of this machine could read the store, or hold its lock, until this object first wrote to it. That write removed
  /// their access.
  public var wasOpenToOthers: Bool { log.hasTakenPermissions }
}
