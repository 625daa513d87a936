import HeartlogEvents

extension FavoritesState {
  /// Applies commits as they lie in their rows, as `apply` of each does, without any of them being made.
  ///
  /// - Returns: the places of those that were applied before.
  @discardableResult
  public mutating func apply(_ rows: [CommitRow]) -> [Int] {
    let found = firstItems(of: rows)
    var known: [Int] = []
    for (place, row) in rows.enumerated() where !apply(row, found[place]) { known.append(place) }
    return known
  }

  /// Where the item of a commit's first event is; nothing where it is not there.
  private struct FoundItem {
    var library = LibrarySlot(index: -1)
    var item: Int32 = -1
  }

  /// Looks the items up one right after the other: the processor waits for several places in memory at a time then.
  private func firstItems(of rows: [CommitRow]) -> [FoundItem] {
    var found: [FoundItem] = []
    found.reserveCapacity(rows.count)
    var library = LibrarySlot(index: -1)
    var name = UnsafeRawBufferPointer(start: nil, count: 0)
    var finder: KeyTable<ItemRecord>.Finder?
    for row in rows {
      var events = row.events
      let event = events.next()
      if finder == nil || !event.library.hasSameBytes(as: name) {
        name = event.library
        library = LibrarySlot(index: libraryNames.find(name) ?? -1)
        finder = library.index < 0 ? nil : tables[Int(library.index)].ids.finder
      }
      var place = FoundItem(library: library)
      if let finder, event.item.count <= Key.inlineBytesMax {
        place.item = finder.find(event.item)?.number ?? -1
      }
      found.append(place)
    }
    return found
  }

  /// - Parameter found: where the first event's item was before any of the rows.
  /// - Returns: false where it was applied before.
  private mutating func apply(_ row: CommitRow, _ found: FoundItem) -> Bool {
    let replica = replicas.intern(row.replica)
    let isNew = begin(
      row.number, of: replica, stamp: row.stamp, firstSequence: row.firstSequence, eventCount: row.eventCount,
      heads: row.heads)
    guard isNew else { return false }
    var position = WritePosition(
      stamp: row.stamp.rawValue, sequence: row.firstSequence.rawValue, replica: replica)
    var events = row.events
    for place in 0..<row.eventCount {
      let event = events.next()
      var library = found.library
      var item = ItemSlot(index: found.item)
      if place > 0 || item.index < 0 {
        library = intern(library: event.library)
        item = intern(item: event.item, in: library)
      }
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
