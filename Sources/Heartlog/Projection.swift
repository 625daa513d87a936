import HeartlogFiles
import HeartlogStorage

/// The state that readers see, and what writers are about to add to it.
///
/// Readers see what is acknowledged. A writer's next draft also sees what stands in line before it.
final class Projection: CommitSink {
  private struct Content {
    var state = FavoritesState()
    var pending = PendingState()
    /// Commits that are in `pending` and not yet in `state`.
    var stagedCount = 0
    /// What takes the place of `state` once all has come again.
    var restarted: FavoritesState?

    /// What stands in line, and over it what was drafted now, which is later.
    func overlay(_ draft: PendingState) -> PendingState {
      guard !pending.isEmpty else { return draft }
      var both = pending
      both.merge(draft)
      return both
    }
  }

  private let content = Guarded(Content())
  let hub = ChangeHub()

  func receive(_ commit: Commit) {
    let isNew = content.withLock { content in
      if content.restarted?.apply(commit) != nil { return false }
      return content.state.apply(commit)
    }
    if isNew { tell(commit) }
  }

  func receive(_ block: ColumnBlock) -> Int {
    var new: [ClosedRange<CommitNumber>] = []
    let changedItems = content.withLock { content in
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

  func stage(_ commit: Commit) {
    content.withLock {
      $0.pending.apply(commit)
      $0.stagedCount += 1
    }
  }

  func publish(_ commits: ArraySlice<Commit>) {
    content.withLock {
      for commit in commits { $0.state.apply(commit) }
      $0.stagedCount -= commits.count
      if $0.stagedCount == 0 { $0.pending.removeAll() }
    }
    for commit in commits { tell(commit) }
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

  func discard() {
    content.withLock {
      $0.pending.removeAll()
      $0.stagedCount = 0
    }
  }

  /// Reads what is acknowledged.
  func read<R>(_ body: (FavoritesState) -> R) -> R {
    content.withLock { body($0.state) }
  }

  /// An item as it will be when everything in line and in `draft` is written.
  func item(_ id: String, in library: String, under draft: PendingState) -> ItemState? {
    content.withLock { $0.overlay(draft).item(id, in: library, over: $0.state) }
  }

  /// All items of a library that were ever written to, as they will be when everything in line and in `draft` is written.
  func items(in library: String, under draft: PendingState) -> [ItemState] {
    content.withLock { content in
      let overlay = content.overlay(draft)
      let changed = overlay.ids(in: library)
      let changedBytes = Set(changed.map { Array($0.utf8) })
      return content.state.items(in: library).filter { !changedBytes.contains(Array($0.id.utf8)) }
        + changed.compactMap { overlay.item($0, in: library, over: content.state) }
    }
  }
}
