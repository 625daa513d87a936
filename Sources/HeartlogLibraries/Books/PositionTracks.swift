import Heartlog

/// Positions that a player has reported and that are not in the log yet: at most one per book.
struct PositionTracks {
  /// The least time between two writes of one book's position, except on pause, stop, book change and close.
  static let spacingMilliseconds: Milliseconds = 5_000

  /// A position that waits to be written.
  struct Waiting: Equatable {
    var seconds: Double
    /// The stamp of a write at the time of the report. A write with a later stamp is newer.
    var stamp: HybridTimestamp
  }

  struct Track {
    var waiting: Waiting?
    /// The position that waited before a 0 was reported, which a player does while it loads another book.
    var beforeZero: Waiting?
    /// When the position was last written, by the library's clock.
    var writtenAt: Milliseconds?
  }

  typealias Entry = (id: Book.ID, waiting: Waiting)

  private(set) var tracks: [Book.ID: Track] = [:]
  /// The last book for which a position above 0 was reported since a book was last selected.
  var playing: Book.ID?

  /// The stored state of a book, as far as a report needs it.
  struct Held {
    var duration: Double
    var position: Double
    /// When the position was written; `nil` if it never was.
    var writtenAt: Milliseconds?
  }

  private var held: [Book.ID: Held?] = [:]
  private var heldEvents: UInt64 = 0

  /// The stored state of a book; `nil` if it is not in the library. It is read again only after an event of
  /// the library was written.
  mutating func held(_ id: Book.ID, events: UInt64, read: () -> Held?) -> Held? {
    if events != heldEvents {
      held.removeAll(keepingCapacity: true)
      heldEvents = events
    }
    if let known = held[id] { return known }
    let value = read()
    held[id] = .some(value)
    return value
  }

  /// Records a report.
  ///
  /// - Returns: Whether it must be written now; `nil` if it is ignored.
  mutating func report(_ waiting: Waiting, of id: Book.ID, held: Held, at now: Milliseconds) -> Bool? {
    var track = tracks[id] ?? Track()
    if waiting.seconds > 0 {
      playing = id
      track.beforeZero = nil
    } else {
      // Nothing of the book has been played yet: the player is loading it.
      guard playing == id || (track.waiting?.seconds ?? held.position) == 0 else { return nil }
      if let before = track.waiting, before.seconds > 0 { track.beforeZero = before }
    }
    track.waiting = waiting
    tracks[id] = track
    guard waiting.seconds > 0 else { return false }
    // A write before this launch counts too. If the clock was set back, positions must not wait.
    return (track.writtenAt ?? held.writtenAt).map {
      $0.distance(to: now).magnitude >= Self.spacingMilliseconds.magnitude
    }
      ?? true
  }

  func waiting(_ id: Book.ID) -> Waiting? { tracks[id]?.waiting }

  /// The positions that wait, of one book or of all, by id, with the position to write for each.
  ///
  /// - Parameters:
  ///   - id: the book; all books if `nil`.
  ///   - atBookChange: whether a 0 comes from a player that is loading. The position before it is then
  ///     written instead, if it still waits.
  func waiting(of id: Book.ID?, atBookChange: Bool) -> [(entry: Entry, value: Waiting?)] {
    var entries: [(entry: Entry, value: Waiting?)] = []
    for (book, track) in tracks where id == nil || book == id {
      guard let waiting = track.waiting else { continue }
      entries.append(((book, waiting), atBookChange && waiting.seconds == 0 ? track.beforeZero : waiting))
    }
    return entries.sorted { $0.entry.id.favoriteID < $1.entry.id.favoriteID }
  }

  /// Records that positions were written. A newer one that has been reported since then still waits.
  mutating func forget(_ entries: [Entry], at now: Milliseconds) {
    for (id, waiting) in entries {
      guard var track = tracks[id] else { continue }
      if track.waiting == waiting {
        track.waiting = nil
        track.beforeZero = nil
      }
      track.writtenAt = now
      tracks[id] = track
    }
  }

  mutating func remove(_ id: Book.ID) {
    tracks[id] = nil
    if playing == id { playing = nil }
  }
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
