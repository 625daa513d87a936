import HeartlogStorage

/// Describes a snapshot of a store.
public struct SnapshotReport: Hashable, Sendable {
  /// The number of events that it covers. Opening the store replays only later ones.
  public let events: UInt64
  /// The size of its file in bytes.
  public let bytes: UInt64
  /// Whether it was written now; false if the last snapshot already covers the whole log.
  public let isNew: Bool
}

/// A snapshot that could not be used; the log was replayed instead. It is deleted if the store is writable.
public struct DroppedSnapshot: Hashable, Sendable, CustomStringConvertible {
  /// The name of its file, in the store's folder `snapshots`.
  public let name: String
  /// What was wrong with it.
  public let reason: String

  /// One sentence, without a full stop.
  public var description: String { "the snapshot \(name) was dropped, and the log replayed: \(reason)" }
}

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
    try log.makeReceivedDurable()
    let report = try heartlogErrors { try snapshots.make() }
    if let report { projection.noteSnapshot(covering: report.events) }
    return report
  }

  /// The snapshots that turned out to be unusable since the store was opened.
  public var droppedSnapshots: [DroppedSnapshot] { snapshots.dropped }

  /// Why the last background snapshot was not written; that costs only time at the next opening. Or why the log could not be read in place
  /// of a damaged snapshot; then reads return what could be read, and writes throw this error.
  public var snapshotFailure: HeartlogError? { snapshots.rebuildFailure ?? snapshots.failure }
}
