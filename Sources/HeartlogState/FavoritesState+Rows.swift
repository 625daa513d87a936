import HeartlogEvents

extension FavoritesState {
  /// Applies a commit as it lies in its row, as `apply` of the commit does, without it being made.
  ///
  /// - Returns: false where it was applied before.
  @discardableResult
  public mutating func apply(_ row: CommitRow) -> Bool {
    let replica = replicas.intern(row.replica)
    let isNew = begin(
      row.number, of: replica, stamp: row.stamp, firstSequence: row.firstSequence, eventCount: row.eventCount,
      heads: row.heads)
    guard isNew else { return false }
    var position = WritePosition(
      stamp: row.stamp.rawValue, sequence: row.firstSequence.rawValue, replica: replica)
    var events = row.events
    for _ in 0..<row.eventCount {
      let event = events.next()
      let library = intern(library: event.library)
      let item = intern(item: event.item, in: library)
      countEvents(1, in: library)
      if let isFavorite = event.head.action?.isFavorite {
        writeMembership(
          of: item, in: library, isFavorite: isFavorite, favoritedDate: event.favoritedDate, at: position)
      }
      for _ in 0..<event.fieldCount {
        let field = events.nextField()
        writeField(
          intern(fieldName: field.name), of: item, in: library, value: field.value, isQuiet: field.isQuiet,
          at: position)
      }
      position.sequence += 1
    }
    return true
  }
}
