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
    guard let stored = stored(id) else { return nil }
    let seconds = stored.clamped(position)
    let waiting = positions.waiting(id.favoriteID, in: Book.library)
    let isAccepted = memory.withLock { memory in
      if seconds > 0 {
        memory.playing = id
        memory.beforeZero[id] = nil
        return true
      }
      // Nothing of the book has been played yet: the player is loading it.
      guard memory.playing == id || (waiting?.seconds ?? stored.seconds) == 0 else { return false }
      if let waiting, waiting.seconds > 0 { memory.beforeZero[id] = waiting }
      return true
    }
    guard isAccepted else { return nil }
    let library = books.library
    let isDue = positions.report(
      [Field.position(seconds)], of: id.favoriteID, in: library, stored: stored.item,
      every: Self.spacingMilliseconds
    ) { (fields, id) throws(HeartlogError) in if library.contains(id) { try library.set(fields, of: id) } }
    return seconds > 0 && isDue
  }

  /// The least time between two writes of one book's position, except on pause, stop, book change and close.
  private static let spacingMilliseconds: Milliseconds = 5_000

  /// The position of a book in seconds: the last one reported here, or a newer one from another device; 0 if
  /// there is none.
  public func loadPosition(for id: Book.ID) -> Double {
    guard let stored = stored(id) else { return 0 }
    return stored.clamped(positions.waiting(id.favoriteID, in: Book.library)?.seconds ?? stored.seconds)
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
    forgetPosition(of: id)
  }

  func flush(_ id: Book.ID?) throws(HeartlogError) { try positions.flush(id?.favoriteID) }

  /// Forgets the position of a book that waits.
  func forgetPosition(of id: Book.ID) {
    positions.remove(id.favoriteID, in: Book.library)
    memory.withLock { $0.forgetPosition(of: id) }
  }

  /// A book as it is stored, as far as its position needs it.
  private struct StoredPosition {
    let item: ItemState

    var seconds: Double { item.value(of: Field.positionName)?.number ?? 0 }

    func clamped(_ position: Double) -> Double {
      Book.clamped(position, duration: item.value(of: "duration")?.number ?? 0)
    }
  }

  /// The stored state of a book; `nil` if it is not in the library.
  private func stored(_ id: Book.ID) -> StoredPosition? {
    books.library.item(id.favoriteID).flatMap { $0.isFavorite ? StoredPosition(item: $0) : nil }
  }
}

extension CoalescedWrites.Waiting {
  /// The position that waits.
  var seconds: Double { fields.first?.value.number ?? 0 }
}

extension Field {
  static let positionName = "currentPosition"

  /// The field of a position. It is quiet, because it is written continuously, and playback on two devices at
  /// once is not a conflict.
  static func position(_ seconds: Double?) -> Field {
    Field(
      name: positionName, value: seconds.flatMap(FieldValue.number) ?? .null, isQuiet: true)
  }
}
