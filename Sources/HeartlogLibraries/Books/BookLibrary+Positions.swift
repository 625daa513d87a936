import Heartlog

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension BookLibrary {
  /// Records the position of a book during playback. It may be called at any rate.
  ///
  /// At most one event per book is written in 5 s. The last position waits for the next call, or for
  /// `flush()`, which an app calls on every pause and stop and when it ends. `saveCurrentBookID` and `close`
  /// flush by themselves.
  ///
  /// A position of 0 is ignored until a position above 0 has been reported since a book was last selected,
  /// because players report 0 while they load. After that, it waits like any other. Use `restartBook` to go
  /// back to the beginning.
  ///
  /// - Parameters:
  ///   - id: the book that is played.
  ///   - position: in seconds from the beginning; clamped to 0…duration.
  /// - Returns: Whether it was accepted: false if the book is not in the library, and for a 0 that is
  ///   ignored.
  /// - Throws: `invalidItem` for NaN and infinity; the errors of a write, after which the position still
  ///   waits.
  @discardableResult
  public func savePosition(for id: Book.ID, position: Double) throws(HeartlogError) -> Bool {
    guard position.isFinite else {
      throw HeartlogError(.invalidItem, "a position of \(position) in the book \(id.favoriteID)")
    }
    guard let isDue = report(position, of: id) else { return false }
    if isDue { try flush(id) }
    return true
  }

  /// Notes a position, which must be finite, without writing it.
  ///
  /// - Returns: Whether it should be written now; `nil` if it is not accepted.
  func report(_ position: Double, of id: Book.ID) -> Bool? {
    let now = clock()
    let (events, lastStamp) = store.read { ($0.counts(of: Book.library).events, $0.lastStamp) }
    return memory.withLock { memory in
      guard let held = memory.positions.held(id, events: events, read: { read(id) }) else { return nil }
      let waiting = PositionTracks.Waiting(
        seconds: Book.clamped(position, duration: held.duration),
        stamp: max(lastStamp, HybridTimestamp(milliseconds: max(0, now))))
      return memory.positions.report(waiting, of: id, held: held, at: now)
    }
  }

  /// The position of a book in seconds: the last one reported here, or a newer one from another device; 0 if
  /// there is none.
  public func loadPosition(for id: Book.ID) -> Double {
    let held = read(id)
    let waiting = memory.withLock { $0.positions.waiting(id) }
    guard let held else { return 0 }
    let position = waiting.flatMap { isSuperseded($0, of: id) ? nil : $0.seconds } ?? held.position
    return Book.clamped(position, duration: held.duration)
  }

  /// Writes all positions that wait, in one commit. A position that is older than one from another device is
  /// dropped.
  ///
  /// - Throws: the errors of a write, after which the positions still wait.
  public func flush() throws(HeartlogError) { try flush(nil) }

  /// Sets a book back to its beginning, immediately. Nothing is written for a book that is not in the
  /// library.
  ///
  /// - Throws: `HeartlogError` if the store cannot be written.
  public func restartBook(_ id: Book.ID) throws(HeartlogError) {
    try store.writeAsOne { () throws(HeartlogError) in
      guard books.contains(id) else { return }
      try books.library.set([Field.position(nil)], of: id.favoriteID)
    }
    memory.withLock { $0.positions.remove(id) }
  }

  func flush(_ id: Book.ID?) throws(HeartlogError) {
    guard memory.withLock({ !$0.positions.waiting(of: id, atBookChange: false).isEmpty }) else { return }
    let written = try store.writeAsOne { () throws(HeartlogError) in try writeWaiting(of: id) }
    memory.withLock { $0.positions.forget(written, at: clock()) }
  }

  /// Writes the positions that wait. Must be called inside a write.
  ///
  /// - Returns: The positions that need not wait any longer, once the commit succeeds.
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

  /// Whether a newer position was written since this one was reported, by another device, process or caller.
  private func isSuperseded(_ waiting: PositionTracks.Waiting, of id: Book.ID) -> Bool {
    positionStamp(of: id).map { $0 > waiting.stamp } ?? false
  }

  /// The stamp of the stored position; `nil` if none was ever written.
  private func positionStamp(of id: Book.ID) -> HybridTimestamp? {
    store.read { $0.position(ofField: Field.positionName, of: id.favoriteID, in: Book.library)?.stamp }
  }

  /// The stored state of a book; `nil` if it is not in the library.
  private func read(_ id: Book.ID) -> PositionTracks.Held? {
    guard let state = books.library.item(id.favoriteID), state.isFavorite else { return nil }
    return PositionTracks.Held(
      duration: state.value(of: "duration")?.number ?? 0,
      position: state.value(of: Field.positionName)?.number ?? 0,
      writtenAt: positionStamp(of: id)?.milliseconds)
  }
}
