import HeartlogFiles
import HeartlogFormat
import HeartlogState

/// What a store consists of: the log, the state that results from it, and the snapshots that the state opens from.
package struct Engine: Sendable {
  package let log: CommitLog
  package let projection: Projection
  package let snapshots: SnapshotKeeper
  /// Whether the state has what a snapshot knows of commits that the log has lost.
  private let showsLostCommits: Bool

  /// Opens the store in a folder: from the newest snapshot that fits the log, or else from the start of the log.
  ///
  /// - Parameters:
  ///   - policy: when snapshots are written.
  ///   - newName: the replica's name in a store that is created if there is none; nil to create none.
  ///   - showsLostCommits: whether the state has what a snapshot knows of commits that the log has lost.
  /// - Throws: `notAStore`, `exists` if something else is at the path, `newerFormat`, `readOnly`, `inputOutput`.
  package init(
    at path: String, on fileSystem: any FileSystem, options: StorageOptions, policy: SnapshotPolicy,
    creatingNamed newName: String?, showsLostCommits: Bool, progress: LogProgress?
  ) throws(HeartlogError) {
    let snapshots = SnapshotKeeper(at: path, on: fileSystem, options: options, policy: policy)
    self.snapshots = snapshots
    (projection, log) = try options.trace.span(.open) { () throws(HeartlogError) in
      try Self.open(at: path, on: fileSystem, options: options, snapshots, newName, progress)
    }
    // If it cannot be read what was lost, the log is shown; `verify` says why.
    let state =
      showsLostCommits && (try? log.hasLostCommits) == true
      ? snapshots.stateWithLostCommits(projection.read(\.heads)) : nil
    self.showsLostCommits = state != nil
    if let state {
      projection.show(state)
      log.stampLater(than: state.lastStamp)
    }
    projection.hub.onSubscription { [weak log, scheduler = options.scheduler] in
      guard let log else { return nil }
      if let watching = Watching(log, scheduler) { return watching }
      return Polling { [weak log] in
        if let log { scheduler.run { log.refreshPolled() } }
      }
    }
    if options.trace.isOn {
      for finding in findings { options.trace.record(.damage, finding.error.description) }
    }
  }

  private static func open(
    at path: String, on fileSystem: any FileSystem, options: StorageOptions, _ snapshots: SnapshotKeeper,
    _ newName: String?, _ progress: LogProgress?
  ) throws(HeartlogError) -> (Projection, CommitLog) {
    var claims: [SnapshotClaim] = []
    func open(from found: SnapshotKeeper.Found?) throws(HeartlogError) -> (Projection, CommitLog) {
      let projection = Projection(snapshots, from: found)
      let log = try CommitLog(
        at: path, on: fileSystem, options: options, projection: projection, from: found?.positions ?? [],
        snapshots: claims, progress: progress)
      if found == nil {
        projection.noteErased(generation: log.erasedGeneration)
      } else if found?.state.erasedGeneration != log.erasedGeneration {
        throw HeartlogError(.otherLog, SnapshotKeeper.erasedSince)
      }
      projection.noteSnapshot(covering: found?.state.eventCount ?? 0)
      if let found { snapshots.note(log.movedPositions, of: found) }
      return (projection, log)
    }
    while let found = snapshots.newest() {
      claims.append(found.claim)
      do { return try open(from: found) } catch {
        try snapshots.reject(found, because: error)
        if error.mismatch == .otherLog { claims.removeLast() }
      }
    }
    do {
      return try open(from: nil)
    } catch {
      guard error.code == .notAStore, let newName, options.access == .readWrite else { throw error }
      do { try CommitLog.create(at: path, on: fileSystem, name: newName, options: options) } catch {
        guard error.code == .exists else { throw error }
        let occupied = error
        // Another process created the store at the same time, unless something else is at the path.
        do { return try open(from: nil) } catch { throw error.code == .notAStore ? occupied : error }
      }
      return try open(from: nil)
    }
  }

  /// The damage that was found since the store was opened, and what recovery did about it.
  package var findings: [Finding] {
    let found = log.findings.union(snapshots.findings)
    // A loss is reported once, unless the state has more than the log: then until it is settled.
    guard showsLostCommits, let noted = try? log.notedLosses() else { return found }
    let known = Set(found.lazy.filter { $0.verdict == .lost }.map(\.replica))
    return found + noted.filter { !known.contains($0.replica) }
  }

  /// Releases everything that must not be held while the process is suspended. The next call wakes it.
  package func suspend() throws(HeartlogError) {
    projection.hub.rest()
    snapshots.rest()
    // What was queued may have made a snapshot due.
    defer {
      projection.hub.rest()
      snapshots.rest()
    }
    try log.restNow()
  }

  /// Closes the log, and writes a snapshot if one is due.
  package func close() {
    log.close()
    projection.snapshotAtClose()
    snapshots.finish()
    projection.hub.finish()
  }

  /// Rewrites the store's own log as large compressed blocks.
  package func seal(progress: LogProgress?) throws(HeartlogError) -> SealReport {
    let report = try log.seal(progress: progress)
    // Without a new snapshot, the next open would compare the old one with the newly sealed log commit by commit.
    if report.sealedFiles > 0, projection.hasSnapshot { snapshots.makeIfPossible(anew: true) }
    return report
  }

  /// Writes a snapshot of the whole log, which is durable by now.
  ///
  /// - Returns: nil if none can be written.
  package func snapshot() throws(HeartlogError) -> SnapshotReport? {
    try log.makeReceivedDurable()
    let report = try heartlogErrors { try snapshots.make() }
    if let report { projection.noteSnapshot(covering: report.events) }
    return report
  }
}
