import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension BookLibrary {
  /// Takes the position of a book that is played, as often as the player says. At most one event a book is written per 5 s of them; the
  /// last one waits for the next, or for `flush()`, which belongs to every pause, stop and end of the app. `saveCurrentBookID` and `close`
  /// flush by themselves.
  ///
  /// A 0 does not count until something of the book was heard since a book was last selected, for players say 0 while they load; after
  /// that it waits as any other does. `restartBook` means it.
  ///
  /// - Parameters:
  ///   - id: the book that is played.
  ///   - position: seconds from the beginning; taken into 0…duration.
  /// - Returns: whether it was taken: not for a book that is not in the library, nor for a 0 that does not count.
  /// - Throws: `invalidItem` for NaN and infinity; what a write throws, and then the position still waits.
  @discardableResult
  public func savePosition(for id: Book.ID, position: Double) throws(HeartlogError) -> Bool {
    guard position.isFinite else {
      throw HeartlogError(.invalidItem, "a position of \(position) in the book \(id.favoriteID)")
    }
    let now = clock()
    let (events, lastStamp) = store.read { ($0.counts(of: Book.library).events, $0.lastStamp) }
    let isDue = memory.withLock { memory -> Bool? in
      guard let held = memory.positions.held(id, events: events, read: { read(id) }) else { return nil }
      let waiting = PositionTracks.Waiting(
        seconds: Book.clamped(position, duration: held.duration),
        stamp: max(lastStamp, HybridTimestamp(milliseconds: max(0, now))))
      return memory.positions.report(waiting, of: id, held: held, at: now)
    }
    if isDue == true { try flush(id) }
    return isDue != nil
  }

  /// Where a book was left, in seconds: what was reported last here, or what another device has written since; 0 where nothing was.
  public func loadPosition(for id: Book.ID) -> Double {
    let held = read(id)
    let waiting = memory.withLock { $0.positions.waiting(id) }
    guard let held else { return 0 }
    let position = waiting.flatMap { isSuperseded($0, of: id) ? nil : $0.seconds } ?? held.position
    return Book.clamped(position, duration: held.duration)
  }

  /// Writes all positions that wait, in one commit. One that is older than what has come from elsewhere is dropped.
  ///
  /// - Throws: what a write throws, and then they still wait.
  public func flush() throws(HeartlogError) { try flush(nil) }

  /// Sets a book back to its beginning, at once. Of one that is not in the library nothing is written.
  ///
  /// - Throws: `HeartlogError` where the store cannot be written.
  public func restartBook(_ id: Book.ID) throws(HeartlogError) {
    try store.writeAsOne { () throws(HeartlogError) in
      guard books.contains(id) else { return }
      try books.library.set([Field.position(nil)], of: id.favoriteID)
    }
    memory.withLock { $0.positions.remove(id) }
  }

  private func flush(_ id: Book.ID?) throws(HeartlogError) {
    guard memory.withLock({ !$0.positions.waiting(of: id, atBookChange: false).isEmpty }) else { return }
    let written = try store.writeAsOne { () throws(HeartlogError) in try writeWaiting(of: id) }
    memory.withLock { $0.positions.forget(written, at: clock()) }
  }

  /// Writes what waits, inside of a write.
  ///
  /// - Returns: what need not wait any longer, once the commit is there.
  func writeWaiting(
    of id: Book.ID? = nil, atBookChange: Bool = false
  ) throws(HeartlogError) -> [PositionTracks.Entry] {
    let waiting = memory.withLock { $0.positions.waiting(of: id, atBookChange: atBookChange) }
    for (entry, value) in waiting {
      guard let value, books.contains(entry.id), !isSuperseded(value, of: entry.id) else { continue }
      try books.library.set([Field.position(value.seconds)], of: entry.id.favoriteID)
    }
    return waiting.map(\.entry)
  }

  /// Whether a position was written since that one was reported: by another device, another process, another caller.
  private func isSuperseded(_ waiting: PositionTracks.Waiting, of id: Book.ID) -> Bool {
    positionStamp(of: id).map { $0 > waiting.stamp } ?? false
  }

  /// The stamp of the position that the store holds; nil where none was ever written.
  private func positionStamp(of id: Book.ID) -> HybridTimestamp? {
    store.read { $0.position(ofField: Field.positionName, of: id.favoriteID, in: Book.library)?.stamp }
  }

  /// What the store holds of a book; nil where it is not in the library.
  private func read(_ id: Book.ID) -> PositionTracks.Held? {
    guard let state = books.library.item(id.favoriteID), state.isFavorite else { return nil }
    return PositionTracks.Held(
      duration: state.value(of: "duration")?.number ?? 0,
      position: state.value(of: Field.positionName)?.number ?? 0,
      writtenAt: positionStamp(of: id)?.milliseconds)
  }
}
