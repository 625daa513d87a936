import HeartlogFormat

extension FavoritesState {
  /// Applies commits from their rows, as `apply` of each does, without creating any of them.
  ///
  /// - Returns: the indices of those that had been applied before.
  @discardableResult
  package mutating func apply(_ rows: [CommitRow]) -> [Int] {
    let found = firstItems(of: rows)
    if let replica = beginRun(rows) {
      for (index, row) in rows.enumerated() { write(row, found[index], by: replica) }
      return []
    }
    var known: [Int] = []
    for (index, row) in rows.enumerated() {
      if let replica = begin(row.header, heads: row.heads) {
        write(row, found[index], by: replica)
      } else {
        known.append(index)
      }
    }
    return known
  }

  /// Records all of the commits at once, if they follow each other and have seen nothing new; nil if they must be recorded one after
  /// the other.
  private mutating func beginRun(_ rows: [CommitRow]) -> ReplicaSlot? {
    guard let first = rows.first?.header else { return nil }
    var stream = StreamContinuity(
      replica: first.replica, next: first.number, nextSequence: first.firstSequence)
    var eventStarts: [Int32] = [0]
    eventStarts.reserveCapacity(rows.count + 1)
    var events: Int32 = 0
    for row in rows {
      guard !row.hasHeads, (try? stream.extend(by: row.header)) != nil else { return nil }
      events += Int32(row.header.eventCount)
      eventStarts.append(events)
    }
    let lastStamp = stream.lastStamp
    let replica = replicas.intern(first.replica)
    // A slice, because before macOS 26 an array has no span of its own.
    let eventStartSlice = eventStarts[...]
    let isNoted = replicas.note(
      from: first.number, of: replica, lastStamp: lastStamp, firstSequence: first.firstSequence,
      eventStarts: eventStartSlice.span)
    guard isNoted else { return nil }
    noteRun(commits: rows.count, events: Int(events), lastStamp: lastStamp)
    return replica
  }

  /// The position of the item of a commit's first event; nothing if it is absent.
  private struct FoundItem {
    var library = LibrarySlot(index: -1)
    var item: Int32 = -1
  }

  /// Looks up several items at a time, so that the processor waits for several memory addresses at once.
  private func firstItems(of rows: [CommitRow]) -> [FoundItem] {
    var found: [FoundItem] = []
    found.reserveCapacity(rows.count)
    var library = LibrarySlot(index: -1)
    var name = UnsafeRawBufferPointer(start: nil, count: 0)
    var finder: InternTable<ItemRecord>.Finder?
    let soughtTogether = InternTable<ItemRecord>.soughtTogether
    withUnsafeTemporaryAllocation(
      of: (finder: InternTable<ItemRecord>.Finder, sought: InternTable<ItemRecord>.Probe)?.self,
      capacity: soughtTogether
    ) { sought in
      while found.count < rows.count {
        let first = found.count
        let count = min(soughtTogether, rows.count - first)
        for index in 0..<count {
          var events = rows[first + index].events
          let event = events.next()
          if finder == nil || !event.library.hasSameBytes(as: name) {
            name = event.library
            library = LibrarySlot(index: libraryNames.find(name) ?? -1)
            finder = library.index < 0 ? nil : tables[Int(library.index)].ids.finder
          }
          found.append(FoundItem(library: library))
          sought.initializeElement(at: index, to: finder.map { ($0, $0.seek(event.item)) })
        }
        for index in 0..<count { if let (finder, sought) = sought[index] { finder.seekRecord(sought) } }
        for index in 0..<count {
          if let (finder, sought) = sought[index] { found[first + index].item = finder.find(sought) ?? -1 }
        }
      }
    }
    return found
  }

  /// - Parameter found: the position of the first event's item before any of the rows.
  private mutating func write(_ row: CommitRow, _ found: FoundItem, by replica: ReplicaSlot) {
    var position = WritePosition(
      stamp: row.header.stamp.rawValue, sequence: row.header.firstSequence.rawValue, replica: replica)
    var events = row.events
    var hasOnlyEvents = true
    for index in 0..<row.header.eventCount {
      let event = events.next()
      if event.header.isEvent {
        let isFound = index == 0 && found.item >= 0
        apply(
          event, at: position, wallTime: row.header.wallTime,
          found: isFound ? (found.library, ItemSlot(index: found.item)) : nil)
      } else {
        hasOnlyEvents = false
      }
      position.sequence += 1
    }
    if !hasOnlyEvents { noteErasing(row.commit()) }
  }
}
