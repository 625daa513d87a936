import HeartlogFiles
import HeartlogFormat
import HeartlogState

/// The state that readers see, and the queued changes that writers build on.
///
/// Readers see acknowledged commits. A draft also sees the commits that are queued before it. The log's calls that change the state are
/// never concurrent. Not final, because tests watch them.
package class Projection: @unchecked Sendable {
  package struct Content {
    var state: FavoritesState
    /// The number of events that the last snapshot covers, and the number of events at which the next snapshot is due.
    var coveredEvents: UInt64 = 0
    var snapshotDue = UInt64.max
    var snapshotDueAtClose = UInt64.max
    /// The changes of queued commits. Built only when a draft finds queued commits, which never happens with a lone writer.
    var overlay = WriteOverlay()
    /// The first and the last commit in `overlay`, or nil if it is empty.
    fileprivate var firstOverlaid: CommitLog.PendingCommit?
    fileprivate var lastOverlaid: CommitLog.PendingCommit?
    /// Replaces `state` once the whole log has been received again.
    var restarted: FavoritesState?
    /// False if the state had to be rebuilt and the log did not contain all of it.
    var isWhole = true

    /// Updates `overlay`. It may keep commits that have been published since, because applying a write over itself changes nothing. Failed
    /// commits are never kept, because all commits queued behind them failed too.
    mutating func overlay(_ queued: QueuedCommits?) {
      guard let queued else { return forgetOverlay() }
      var next = queued.count
      while next > 0, queued[next - 1] !== lastOverlaid { next -= 1 }
      // If writers never pause, the overlay would grow without bound, so published commits are dropped from time to time.
      let isStale =
        next > 0 && overlay.itemCount > Self.overlaidItemsMax && queued[0] !== firstOverlaid
      if next == 0 || isStale {
        forgetOverlay()
        firstOverlaid = queued[0]
        next = 0
      }
      while next < queued.count {
        overlay.apply(queued[next].commit)
        lastOverlaid = queued[next]
        next += 1
      }
      assert(lastOverlaid === queued[queued.count - 1], "the overlay ends with the last queued commit")
    }

    private mutating func forgetOverlay() {
      guard lastOverlaid != nil else { return }
      overlay.removeAll()
      lastOverlaid = nil
      firstOverlaid = nil
    }

    private static let overlaidItemsMax = 1_024
  }

  package let content: Monitor<Content>
  private let snapshots: SnapshotKeeper
  /// The snapshot that the state was read from.
  private let file: SnapshotFile?
  package let hub = ChangeHub()

  /// - Parameter found: the snapshot that the state starts from, if any.
  package init(_ snapshots: SnapshotKeeper, from found: SnapshotKeeper.Found? = nil) {
    self.snapshots = snapshots
    file = found?.file
    content = Monitor(Content(state: found?.state ?? FavoritesState()))
  }

  /// Receives a commit from another replica.
  package func receive(_ commit: Commit) {
    let isNew = change { content in
      if content.restarted?.apply(commit) != nil { return false }
      return content.state.apply(commit)
    }
    if isNew { hub.tell(commit) }
  }

  /// Receives consecutive commits from the log: when the store is opened, from another process, or from another replica. The rows are only
  /// valid until the call returns.
  func receive(_ rows: [CommitRow]) {
    let known = change { content in
      if content.restarted?.apply(rows) != nil { return Array(rows.indices) }
      return content.state.apply(rows)
    }
    guard hub.hasListeners, known.count < rows.count else { return }
    let old = Set(known)
    for (index, row) in rows.enumerated() where !old.contains(index) { hub.tell(row.commit()) }
  }

  /// Like `receive` of rows, for a run of consecutive commits that are from the log or were just shipped here.
  ///
  /// - Returns: the number of items that changed.
  func receive(_ block: ColumnBlock) -> Int {
    var new: [ClosedRange<CommitNumber>] = []
    let changedItems = change { content in
      if content.restarted?.apply(block) != nil { return 0 }
      return content.state.countingChanges { $0.apply(block, new: &new) }
    }
    guard hub.hasListeners, !new.isEmpty else { return changedItems }
    for commits in new { for commit in block.cut(to: commits).commits() { hub.tell(commit) } }
    return changedItems
  }

  /// Some received commits are no longer part of the log, or have less content. The whole log is received again between this call and
  /// `endRestart`.
  ///
  /// - Parameter erasedGeneration: that of the log's list of erased events.
  func beginRestart(erasedGeneration: UInt64) {
    content.withLock { content in
      assert(content.restarted == nil, "one restart ends before the next begins")
      content.restarted = FavoritesState(erasedGeneration: erasedGeneration)
    }
  }

  /// Replaces the state by one that has more than the log. After a restart, it is that of the log.
  package final func show(_ state: FavoritesState) { content.withLock { $0.state = state } }

  /// Records the generation of the list of erased events with which the log was read from its start.
  package final func noteErased(generation: UInt64) {
    content.withLock { $0.state.erasedGeneration = generation }
  }

  func endRestart() {
    content.withLock { content in
      assert(content.restarted != nil, "a restart ends that was begun")
      if let restarted = content.restarted { content.state = restarted }
      content.restarted = nil
    }
    hub.tellRestart()
  }

  /// Publishes acknowledged commits of this process.
  func publish(_ commits: [CommitLog.PendingCommit]) {
    // One commit at a time, so that a draft waits for at most one commit.
    for pending in commits { change { content in _ = content.state.apply(pending.commit) } }
    guard hub.hasListeners else { return }
    for pending in commits { hub.tell(pending.commit) }
  }

  /// Reads the acknowledged state. If the snapshot turns out to be damaged, `body` is run again on a state rebuilt without it.
  package final func read<R>(_ body: (FavoritesState) -> R) -> R {
    content.withLock { content in
      let result = body(content.state)
      guard content.state.mayMeetDamage else { return result }
      // A copy that is kept must never reach damaged data, because it could not be repaired then.
      if content.state.isShared { content.state.loadSnapshot() }
      guard content.state.isDamaged else { return result }
      rebuild(&content)
      return body(content.state)
    }
  }

  /// Whether an item is a favorite.
  package final func isFavorite(_ id: String, in library: LibraryKey) -> Bool {
    look { FavoritesState.isFavorite(id, in: library, of: &$0.state) }
  }

  /// Returns an item, which may be a tombstone, or nil if it was never written.
  package final func item(_ id: String, in library: LibraryKey) -> ItemState? {
    look { FavoritesState.item(id, in: library, of: &$0.state) }
  }

  /// Reads the content like `read`. `body` must not keep any part of the state.
  @inline(__always)
  private func look<R>(_ body: (inout Content) -> R) -> R {
    content.withLock { content in
      let result = body(&content)
      guard FavoritesState.isDamaged(&content.state) else { return result }
      rebuild(&content)
      return body(&content)
    }
  }

  /// Applies changes from the log.
  private func change<R>(_ body: (inout Content) -> R) -> R {
    let (result, isDue) = content.withLock { content in
      let result = body(&content)
      if FavoritesState.isDamaged(&content.state) { rebuild(&content) }
      guard content.state.eventCount >= content.snapshotDue else { return (result, false) }
      content.snapshotDue = .max
      return (result, true)
    }
    if isDue { makeSnapshot() }
    return result
  }

  // MARK: - Snapshots

  /// Rebuilds the state without the snapshot. Its heads are known to be correct, and the log contains everything up to them.
  private func rebuild(_ content: inout Content) {
    if let file { snapshots.drop(file, because: SnapshotKeeper.damage) }
    let erasedGeneration = content.state.erasedGeneration
    content.state = snapshots.replayed(upTo: content.state.heads)
    content.state.erasedGeneration = erasedGeneration
    content.isWhole = snapshots.rebuildFailure == nil
  }

  private func makeSnapshot() {
    snapshots.makeInBackground { [weak self] covered, isAbandoned in
      guard let self else { return }
      if let covered { noteSnapshot(covering: covered) }
      if isAbandoned { noteSnapshot(covering: content.withLock { $0.coveredEvents }) }
    }
  }

  /// Whether a snapshot exists, as far as this process knows.
  package var hasSnapshot: Bool { content.withLock { $0.coveredEvents > 0 } }

  /// Makes a snapshot if enough events were added since the last one to slow down the next opening noticeably.
  package final func snapshotAtClose() {
    let due = content.withLock { content -> FavoritesState? in
      guard content.state.eventCount >= content.snapshotDueAtClose else { return nil }
      content.snapshotDueAtClose = .max
      content.snapshotDue = .max
      // The copy is read concurrently with other readers.
      content.state.loadSnapshot()
      return content.state
    }
    if let due { snapshots.makeIfPossible(of: due) }
  }

  /// Records that a snapshot of `events` events exists, and when the next one is due.
  package final func noteSnapshot(covering events: UInt64) {
    let policy = snapshots.policy
    content.withLock {
      $0.coveredEvents = events
      $0.snapshotDue = policy.due(covered: events)
      $0.snapshotDueAtClose = policy.due(covered: events, atClose: true)
    }
  }

  /// Decides what an operation writes, on top of everything that is queued and in `draft`.
  ///
  /// - Throws: `invalid` if the operation or its event breaks a rule: so the error names the call that is wrong, and the event need not be
  ///   validated again. An error of the log if the state is not whole.
  package final func plan(
    _ operation: HeartlogState.Operation, on id: String, in library: LibraryKey,
    over queued: QueuedCommits?, _ draft: WriteOverlay, wallTime: Milliseconds
  ) throws(HeartlogError) -> WritePlan {
    // What another program wrote there can be undone.
    if library.isReserved, !operation.isOverwrite {
      throw HeartlogError(
        .invalid,
        "nothing can be written to \"\(library.name)\": libraries whose names begin with \"heartlog.\" are reserved for the store"
      )
    }
    do throws(MalformedError) {
      // An operation that needs no event is still rejected if it breaks a rule.
      try NameRules.checkItem(id)
      for field in operation.fields { try NameRules.checkFieldName(field.name) }
    } catch {
      throw HeartlogError(.invalid, error.reason)
    }
    var isWhole = false
    let planned = look { content in
      isWhole = content.isWhole
      content.overlay(queued)
      return content.state.plan(
        operation, on: id, in: library, under: content.overlay, and: draft, wallTime: wallTime)
    }
    guard isWhole else {
      throw snapshots.rebuildFailure ?? HeartlogError(.corrupt, "the state could not be rebuilt")
    }
    do throws(MalformedError) { try planned.record?.validateContent(wallTime: wallTime) } catch {
      throw HeartlogError(.invalid, error.reason)
    }
    return planned
  }

  /// Returns an item as it will be after everything that is queued and in `draft` is written.
  package final func item(
    _ id: String, in library: String, over queued: QueuedCommits?, _ draft: WriteOverlay
  )
    -> ItemState?
  {
    look {
      $0.overlay(queued)
      return $0.overlay.item(id, in: library, over: $0.state, under: draft)
    }
  }

  /// Returns the writes that registers of an item will show after everything that is queued and in `draft` is written; nil for one that was
  /// never written.
  package final func shownWrites(
    of registers: [Conflict.Register], of id: String, in library: String, over queued: QueuedCommits?,
    _ draft: WriteOverlay = WriteOverlay()
  ) -> [Conflict.Write?] {
    look { content in
      content.overlay(queued)
      return registers.map {
        content.state.shownWrite(of: $0, of: id, in: library, under: content.overlay, and: draft)
      }
    }
  }

  /// Whether an item will be a favorite after everything that is queued and in `draft` is written.
  package final func isFavorite(
    _ id: String, in library: String, over queued: QueuedCommits?, _ draft: WriteOverlay
  )
    -> Bool
  {
    look {
      $0.overlay(queued)
      return $0.overlay.isFavorite(id, in: library, over: $0.state, under: draft)
    }
  }

  /// Returns all items of a library that were ever written, as they will be after everything that is queued and in `draft` is written.
  package final func items(in library: String, over queued: QueuedCommits?, _ draft: WriteOverlay)
    -> [ItemState]
  {
    look { content in
      content.overlay(queued)
      var overlay = content.overlay
      overlay.merge(draft)
      let changed = overlay.ids(in: library)
      let changedBytes = Set(changed.map { Array($0.utf8) })
      return content.state.items(in: library).filter { !changedBytes.contains(Array($0.id.utf8)) }
        + changed.compactMap { overlay.item($0, in: library, over: content.state) }
    }
  }
}
