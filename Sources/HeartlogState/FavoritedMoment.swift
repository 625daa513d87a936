import HeartlogFormat

/// Since when an item is a favorite, and by which write. Orders by date compare these: of two equal dates, the one that was written
/// later is the newer one.
package struct FavoritedMoment: Hashable, Sendable, Comparable {
  /// The favorited date. Compared first.
  package let date: Milliseconds
  /// The position of the membership's write in the `MergeOrder`.
  package let position: EventPosition

  /// Creates a moment.
  package init(date: Milliseconds, position: EventPosition) {
    self.date = date
    self.position = position
  }

  /// Creates the moment of an item that no store has written: it comes before all writes with the same date.
  package init(date: Milliseconds) {
    self.init(
      date: date,
      position: EventPosition(
        stamp: HybridTimestamp(rawValue: 0), replica: ReplicaID(high: 0, low: 0),
        sequence: SequenceNumber(rawValue: 0)))
  }

  package static func < (a: FavoritedMoment, b: FavoritedMoment) -> Bool {
    a.date == b.date ? a.position < b.position : a.date < b.date
  }
}
