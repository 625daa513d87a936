import HeartlogFiles
import HeartlogStorage

/// The state that readers see, and what writers are about to add to it.
///
/// Readers see what is acknowledged. A draft also sees the commits that are queued before it.
final class Projection: CommitSink {
  struct Content {
    var state: FavoritesState
    /// The events that the last snapshot covers, and those that the state has when the next one is due.
    var coveredEvents: UInt64 = 0
    var snapshotDue = UInt64.max
    var snapshotDueAtClose = UInt64.max
    /// What queued commits change. Made when a draft finds some: a lone writer's never does.
    var overlay = WriteOverlay()
    /// The first and the last commit in `overlay`; nil if it is empty.
    fileprivate var firstOverlaid: CommitLog.PendingCommit?
    fileprivate var lastOverlaid: CommitLog.PendingCommit?
    /// What takes the place of `state` once all has come again.
    var restarted: FavoritesState?
    /// False where the state had to be made anew, and the log did not give all of it.
    var isWhole = true

    /// Brings `overlay` up to date. It may keep commits that were published meanwhile: a write wins nothing over itself. Commits that
    /// failed are never kept, because all that were queued behind them failed, too.
    mutating func overlay(_ queued: QueuedCommits) {
      if queued.isEmpty, lastOverlaid == nil { return }
      var next = queued.count
      while next > 0, queued[next - 1] !== lastOverlaid { next -= 1 }
      // If writers never pause, the overlay would grow without bound: what was published is dropped now and then.
      let isStale =
        next > 0 && overlay.itemCount > Self.overlaidItemsMax && queued[0] !== firstOverlaid
      if next == 0 || isStale {
        overlay.removeAll()
        lastOverlaid = nil
        firstOverlaid = queued.isEmpty ? nil : queued[0]
        next = 0
      }
      while next < queued.count {
        overlay.apply(queued[next].commit)
        lastOverlaid = queued[next]
        next += 1
      }
    }

    private static let overlaidItemsMax = 1_024
  }

  let content: Locked<Content>
  private let snapshots: SnapshotKeeper
  /// The snapshot that the state was read from.
  private let file: SnapshotFile?
  let hub = ChangeHub()

  /// - Parameter found: what the state begins with.
  init(_ snapshots: SnapshotKeeper, from found: SnapshotKeeper.Found? = nil) {
    self.snapshots = snapshots
    file = found?.file
    content = Locked(Content(state: found?.state ?? FavoritesState()))
  }

  func receive(_ commit: Commit) {
    let isNew = change { content in
      if content.restarted?.apply(commit) != nil { return false }
      return content.state.apply(commit)
    }
    if isNew { tell(commit) }
  }

  func receive(_ rows: [CommitRow]) {
    let known = change { content in
      if content.restarted?.apply(rows) != nil { return Array(rows.indices) }
      return content.state.apply(rows)
    }
    guard hub.hasListeners, known.count < rows.count else { return }
    let old = Set(known)
    for (index, row) in rows.enumerated() where !old.contains(index) { tell(row.commit()) }
  }

  func receive(_ block: ColumnBlock) -> Int {
    var new: [ClosedRange<CommitNumber>] = []
    let changedItems = change { content in
      if content.restarted?.apply(block) != nil { return 0 }
      return content.state.countingChanges { $0.apply(block, new: &new) }
    }
    guard hub.hasListeners, !new.isEmpty else { return changedItems }
    for commits in new { for commit in block.cut(to: commits).commits() { tell(commit) } }
    return changedItems
  }

  func beginRestart() { content.withLock { $0.restarted = FavoritesState() } }

  func endRestart() {
    content.withLock { content in
      if let restarted = content.restarted { content.state = restarted }
      content.restarted = nil
    }
  }

  func publish(_ commits: [CommitLog.PendingCommit]) {
    // One at a time, so that a draft waits for one commit at most.
    for pending in commits { change { content in _ = content.state.apply(pending.commit) } }
    guard hub.hasListeners else { return }
    for pending in commits { tell(pending.commit) }
  }

  private func tell(_ commit: Commit) {
    hub.tell(commit) {
      let before = CommitNumber(rawValue: commit.number.rawValue - 1)
      return self.read { $0.heads }.compactMap { head in
        guard head.replica == commit.replica else { return head }
        return before.rawValue > 0 ? Head(replica: head.replica, commit: before) : nil
      }
    }
  }

  /// Reads what is acknowledged. Where the snapshot turns out to be damaged, `body` is run again, over a state without it.
  func read<R>(_ body: (FavoritesState) -> R) -> R {
    content.withLock { content in
      let result = body(content.state)
      guard content.state.mayMeetDamage else { return result }
      // Whoever keeps a copy must never meet damage in it: then nobody could mend it.
      if content.state.isShared { content.state.loadSnapshot() }
      guard content.state.isDamaged else { return result }
      rebuild(&content)
      return body(content.state)
    }
  }

  /// Whether an item is a favorite.
  func isFavorite(_ id: String, in library: LibraryKey) -> Bool {
    look { FavoritesState.isFavorite(id, in: library, of: &$0.state) }
  }

  /// An item, a tombstone too; nil where it was never written to.
  func item(_ id: String, in library: LibraryKey) -> ItemState? {
    look { FavoritesState.item(id, in: library, of: &$0.state) }
  }

  /// Looks at all that there is, as `read` does; of the state nothing may be kept.
  @inline(__always)
  private func look<R>(_ body: (inout Content) -> R) -> R {
    content.withLock { content in
      let result = body(&content)
      guard FavoritesState.isDamaged(&content.state) else { return result }
      rebuild(&content)
      return body(&content)
    }
  }

  /// Applies what the log has.
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

  /// Makes the state anew, without the snapshot: its heads are known for certain, and all up to them is in the log.
  private func rebuild(_ content: inout Content) {
    if let file { snapshots.drop(file, because: SnapshotKeeper.damage) }
    content.state = snapshots.replayed(upTo: content.state.heads)
    content.isWhole = snapshots.rebuildFailure == nil
  }

  private func makeSnapshot() {
    snapshots.makeInBackground { [weak self] covered in
      if let self, let covered { self.noteSnapshot(covering: covered) }
    }
  }

  /// Whether there is a snapshot, as far as this process knows.
  var hasSnapshot: Bool { content.withLock { $0.coveredEvents > 0 } }

  /// Makes one where so many events came since the last one that the next opening would notice.
  func snapshotAtClose() {
    let due = content.withLock { content -> FavoritesState? in
      guard content.state.eventCount >= content.snapshotDueAtClose else { return nil }
      content.snapshotDueAtClose = .max
      content.snapshotDue = .max
      // A copy is read beside others who read.
      content.state.loadSnapshot()
      return content.state
    }
    if let due { snapshots.makeIfPossible(of: due) }
  }

  /// Notes that there is a snapshot of so many events: the next one is due some time later.
  func noteSnapshot(covering events: UInt64) {
    let policy = snapshots.policy
    content.withLock {
      $0.coveredEvents = events
      $0.snapshotDue = policy.due(covered: events)
      $0.snapshotDueAtClose = policy.due(covered: events, atClose: true)
    }
  }

  /// Decides what an operation writes when everything that is queued and in `draft` is written.
  ///
  /// - Returns: the plan, and whether the item is a favorite before it.
  /// - Throws: where the state is not whole.
  func plan(
    _ operation: HeartlogState.Operation, on id: String, in library: String,
    over queued: QueuedCommits, _ draft: WriteOverlay, wallTime: Milliseconds
  ) throws(HeartlogError) -> (plan: WritePlan, wasFavorite: Bool) {
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
    return planned
  }

  /// An item as it will be when everything that is queued and in `draft` is written.
  func item(_ id: String, in library: String, over queued: QueuedCommits, _ draft: WriteOverlay) -> ItemState?
  {
    look {
      $0.overlay(queued)
      return $0.overlay.item(id, in: library, over: $0.state, under: draft)
    }
  }

  /// Whether an item is a favorite then.
  func isFavorite(_ id: String, in library: String, over queued: QueuedCommits, _ draft: WriteOverlay) -> Bool
  {
    look {
      $0.overlay(queued)
      return $0.overlay.isFavorite(id, in: library, over: $0.state, under: draft)
    }
  }

  /// All items of a library that were ever written to, as they will be when everything that is queued and in `draft` is written.
  func items(in library: String, over queued: QueuedCommits, _ draft: WriteOverlay) -> [ItemState] {
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
