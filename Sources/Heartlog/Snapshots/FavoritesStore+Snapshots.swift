import HeartlogStorage

/// A snapshot of a store.
public struct SnapshotReport: Hashable, Sendable {
  /// Events that it covers: opening the store replays those that came later.
  public let events: UInt64
  /// The size of its file.
  public let bytes: UInt64
  /// Whether it was written now; false where the last one covers the whole log.
  public let isNew: Bool
}

/// A snapshot that could not be used: the log was replayed in its place. It is gone, where the store may be written.
public struct DroppedSnapshot: Hashable, Sendable, CustomStringConvertible {
  /// The name of its file, in the store's folder `snapshots`.
  public let name: String
  /// What was wrong with it.
  public let reason: String

  /// One sentence, without a full stop.
  public var description: String { "the snapshot \(name) was dropped, and the log replayed: \(reason)" }
}

extension FavoritesStore {
  /// Writes a snapshot of all that the log has, from which the store opens at once. Writers go on meanwhile.
  ///
  /// Stores do this by themselves, as the options' policy says. Returns nil where none may be written: in a store that was opened for
  /// reading, is on a network, or is damaged.
  ///
  /// - Throws: `misuse` inside of `write { }`; `diskFull`, `inputOutput`. The store is as it was then.
  @discardableResult
  public func snapshot() throws(HeartlogError) -> SnapshotReport? {
    try refuseInsideWrite("snapshot")
    try flush()
    let report = try heartlogErrors { try snapshots.make() }
    if let report { projection.noteSnapshot(covering: report.events) }
    return report
  }

  /// The snapshots that turned out not to be usable since the store was opened.
  public var droppedSnapshots: [DroppedSnapshot] { snapshots.dropped }

  /// Why the last snapshot in the background was not written: nothing is lost by that but time at the next opening. Or why the log could
  /// not be read in the place of a damaged snapshot: then reads show what could be read, and writes throw the same.
  public var snapshotFailure: HeartlogError? { snapshots.rebuildFailure ?? snapshots.failure }
}
