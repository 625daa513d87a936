import Heartlog

/// What a player has reported and the log has not: at most one position a book.
struct PositionTracks {
  /// The least time between two writes of one book's position, but for those at pause, stop, book change and close.
  static let spacingMilliseconds: Milliseconds = 5_000

  /// A position that waits to be written.
  struct Waiting: Equatable {
    var seconds: Double
    /// The stamp that it would have, had it been written when it was reported: a write with a later one is newer.
    var stamp: HybridTimestamp
  }

  struct Track {
    var waiting: Waiting?
    /// What waited before a 0 came: a player says 0 while it loads another book.
    var beforeZero: Waiting?
    /// By the library's clock.
    var writtenAt: Milliseconds?
  }

  typealias Entry = (id: Book.ID, waiting: Waiting)

  private(set) var tracks: [Book.ID: Track] = [:]
  /// The book that a position above 0 was last reported for, since a book was last selected.
  var playing: Book.ID?

  /// What the store holds of a book, as far as a report needs it; nil where the book is not in the library.
  struct Held {
    var duration: Double
    var position: Double
    /// When the position was written; nil where it never was.
    var writtenAt: Milliseconds?
  }

  private var held: [Book.ID: Held?] = [:]
  private var heldEvents: UInt64 = 0

  /// What the store holds of a book, read once for as long as nothing is written to its library.
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

  /// Takes a report.
  ///
  /// - Returns: whether it is to be written now; nil where it does not count.
  mutating func report(_ waiting: Waiting, of id: Book.ID, held: Held, at now: Milliseconds) -> Bool? {
    var track = tracks[id] ?? Track()
    if waiting.seconds > 0 {
      playing = id
      track.beforeZero = nil
    } else {
      // Nobody has heard anything of it yet: it is being loaded.
      guard playing == id || (track.waiting?.seconds ?? held.position) == 0 else { return nil }
      if let before = track.waiting, before.seconds > 0 { track.beforeZero = before }
    }
    track.waiting = waiting
    tracks[id] = track
    guard waiting.seconds > 0 else { return false }
    // What was written before a launch counts too. A clock that was set back must not keep positions waiting.
    return (track.writtenAt ?? held.writtenAt).map {
      $0.distance(to: now).magnitude >= Self.spacingMilliseconds.magnitude
    }
      ?? true
  }

  func waiting(_ id: Book.ID) -> Waiting? { tracks[id]?.waiting }

  /// What waits, of one book or of all, in the order of their ids, and what is to be written of it.
  ///
  /// - Parameter atBookChange: a 0 is a player's that loads; what was heard before it is written in its place, if that still waits.
  func waiting(of id: Book.ID?, atBookChange: Bool) -> [(entry: Entry, value: Waiting?)] {
    var entries: [(entry: Entry, value: Waiting?)] = []
    for (book, track) in tracks where id == nil || book == id {
      guard let waiting = track.waiting else { continue }
      entries.append(((book, waiting), atBookChange && waiting.seconds == 0 ? track.beforeZero : waiting))
    }
    return entries.sorted { $0.entry.id.favoriteID < $1.entry.id.favoriteID }
  }

  /// Takes note of what was written, unless something newer waits by now.
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

  /// The field of a position: quiet, because a player writes it all the time and two that play at once are no conflict.
  static func position(_ seconds: Double?) -> Field {
    Field(
      name: positionName, value: seconds.flatMap(FieldValue.number) ?? .null, isQuiet: true)
  }
}
