import HeartlogFiles
import HeartlogEngine

extension FavoritesStore {
  /// Writes a snapshot of the whole log, from which the store opens quickly. Writers do not wait for it.
  ///
  /// Stores write snapshots automatically, according to the options' policy. Returns nil if no snapshot can be written: the store was
  /// opened read-only, is on a network file system, or is damaged.
  ///
  /// - Throws: `misuse` inside `write { }`; `diskFull`, `inputOutput`; `locked` if a received run must be made durable first, and another
  ///   process holds the lock. The store is unchanged then.
  @discardableResult
  public func snapshot() throws(HeartlogError) -> SnapshotReport? {
    try refuseInsideWrite("snapshot")
    try flush()
    return try engine.snapshot()
  }

  /// The snapshots that turned out to be unusable since the store was opened.
  package var droppedSnapshots: [DroppedSnapshot] { snapshots.dropped }

  /// Why the last background snapshot was not written; that costs only time at the next opening. Or why the log could not be read in place
  /// of a damaged snapshot; then reads return what could be read, and writes throw this error.
  package var snapshotFailure: HeartlogError? { snapshots.rebuildFailure ?? snapshots.failure }
}

extension FavoritesStore {
  /// A log of more bytes takes too long to read while a person waits for a completion.
  private static let glanceBytesMax: UInt64 = 2 << 20

  /// Reads a state of the store in a folder within a few milliseconds: the current one, or that of the newest snapshot if much was written
  /// since. Creates nothing and takes no lock.
  ///
  /// - Returns: nil if there is no store, if it cannot be read, or if it has no snapshot and a long log.
  package static func glance<R>(at path: String, _ body: (FavoritesState) -> R) -> R? {
    let fileSystem = POSIXFileSystem()
    var options = StoreOptions()
    options.access = .readOnly
    options.createsIfMissing = false
    let found = SnapshotKeeper(
      at: path, on: fileSystem, options: options.storage, policy: .manual
    ).newest()
    do {
      guard let bytes = try CommitLog.bytes(behind: found?.positions ?? [], at: path, on: fileSystem) else {
        return nil
      }
      if bytes <= glanceBytesMax {
        return try FavoritesStore(at: path, on: fileSystem, options: options).read(body)
      }
    } catch {
      return nil
    }
    guard let found else { return nil }
    let result = body(found.state)
    return found.state.isDamaged ? nil : result
  }
}
