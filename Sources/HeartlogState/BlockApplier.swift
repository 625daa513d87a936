import HeartlogFormat

/// Writes the events of a block into a state, one after the other, from the columns.
///
/// A name is interned once, and is a small integer for the rest of the block: withheld or already applied events leave
/// no name.
struct BlockApplier {
  private let block: ColumnBlock
  private let columns: BlockColumns
  private let replica: ReplicaSlot
  /// A cursor before the first event of a commit.
  private var cursor: BlockColumns.Cursor
  /// Slots by index in the block; negative if not yet looked up.
  private var libraries: [Int32]
  private var items: [Item]
  /// The members of all shapes, one shape after the other, and the start of each shape's members and the end of the last's.
  private var members: [Member] = []
  private var shapeStarts: [Int] = [0]

  private struct Item {
    /// The index in the block.
    let library: Int32
    var slot = notAskedFor

    static let notAskedFor: Int32 = -1
    static let askedFor: Int32 = -2
  }

  /// How many events ahead of the current one an item's record is prefetched.
  private static let eventsAhead = 12

  private struct Member {
    /// The slot of the field's name; -1 until it is requested.
    var name: Int32 = -1
    /// The index of the column that holds the value; -1 if it has none.
    let column: Int32
    let tag: UInt8
    let isQuiet: Bool
    /// The index of the shape, and of the member among its members.
    let shape: Int32
    let index: Int32
  }

  /// Creates an applier before the first event of a block written by `replica`.
  init(_ block: ColumnBlock, by replica: ReplicaSlot) {
    self.block = block
    self.replica = replica
    columns = block.columns
    cursor = block.start
    libraries = [Int32](repeating: -1, count: columns.libraries.count)
    items = columns.items.map { Item(library: $0.library) }
    for (shape, members) in columns.shapes.map(\.members).enumerated() {
      for (index, member) in members.enumerated() {
        self.members.append(
          Member(
            column: member.values.map(Int32.init) ?? -1, tag: member.tag, isQuiet: member.isQuiet,
            shape: Int32(shape), index: Int32(index)))
      }
      shapeStarts.append(self.members.count)
    }
  }

  /// Writes the events of the commits at these indices, which follow those written before.
  mutating func play(_ indices: Range<Int>, on state: inout FavoritesState) {
    let eventStarts = columns.commits.eventStarts
    assert(Int(eventStarts[indices.lowerBound]) >= cursor.event, "commits are written in order")
    columns.skip(Int(eventStarts[indices.lowerBound]) - cursor.event, &cursor)
    intern(upTo: Int(eventStarts[indices.upperBound]), &state)
    for library in state.tables.indices { state.tables[library].makeOwnIfShared() }
    // Moved out of the state meanwhile, so that they can be written to in place.
    var tables: [ItemTable] = []
    swap(&tables, &state.tables)
    tables.withUnsafeMutableBufferPointer { play(indices, on: $0, order: &state.replicas) }
    swap(&tables, &state.tables)
    assert(cursor.event == Int(eventStarts[indices.upperBound]), "every event of the commits is written")
  }

  private mutating func play(
    _ indices: Range<Int>, on tables: UnsafeMutableBufferPointer<ItemTable>, order: inout ReplicaTable
  ) {
    // All of this is constant while the events are written: no item is added, and none of the tables is copied.
    let columns = columns
    let commits = columns.commits
    // Slices, because before macOS 26 an array has no span of its own.
    let (slots, librarySlots) = (items[...], libraries[...])
    let (headers, itemIndices) = (columns.kinds[...], columns.itemIndices[...])
    let (stampSlice, wallTimeSlice) = (commits.stamps[...], commits.wallTimes[...])
    let eventStartSlice = commits.eventStarts[...]
    let records = tables.map(\.items.reader)
    let items = slots.span
    let libraries = librarySlots.span
    let kinds = headers.span
    let itemSpan = itemIndices.span
    let stamps = stampSlice.span
    let wallTimes = wallTimeSlice.span
    let eventStarts = eventStartSlice.span
    var sequence = block.sequence(at: indices.lowerBound).rawValue
    var event = cursor.event
    var item = cursor.item
    for index in indices {
      let wallTime = wallTimes[index]
      let end = Int(eventStarts[index + 1])
      var position = WritePosition(stamp: stamps[index].rawValue, sequence: sequence, replica: replica)
      while event < end {
        let kind = kinds[event]
        event &+= 1
        if kind.isEvent {
          let record = items[Int(itemSpan[item])]
          item &+= 1
          if item &+ Self.eventsAhead < itemSpan.count {
            let ahead = items[Int(itemSpan[item &+ Self.eventsAhead])]
            // An item of a later run may not be looked up yet.
            if ahead.slot >= 0 {
              ItemRecord.prefetchRegisters(records[Int(libraries[Int(ahead.library)])].read(Int(ahead.slot)))
            }
          }
          let library = Int(libraries[Int(record.library)])
          let slot = ItemSlot(index: record.slot)
          tables[library].apply(
            kind, to: slot,
            favoritedDate: { kind.hasFavoritedDate ? nextDate() : wallTime },
            at: position, order: &order, fields: { nextFields($0) })
        }
        position.sequence &+= 1
      }
      sequence = position.sequence
    }
    cursor.event = event
    cursor.item = item
  }

  private mutating func nextDate() -> Milliseconds {
    cursor.favoritedDate += 1
    return columns.favoritedDates[cursor.favoritedDate - 1]
  }

  private mutating func nextFields(_ write: (FieldWrite) -> Void) {
    let shape = Int(columns.shapeIndices[cursor.shape])
    cursor.shape += 1
    for index in shapeStarts[shape]..<shapeStarts[shape + 1] {
      let member = members[index]
      let column = Int(member.column)
      var word: Int64 = 0
      if column >= 0 {
        word = columns.words[cursor.values[column]]
        cursor.values[column] += 1
      }
      write(
        FieldWrite(
          name: FieldNameSlot(index: member.name), value: columns.value(word, tag: member.tag),
          isQuiet: member.isQuiet))
    }
  }

  // MARK: - Names

  /// Looks up the items and the names of fields of the events from the cursor up to `end`, and counts these events in their libraries.
  private mutating func intern(upTo end: Int, _ state: inout FavoritesState) {
    let columns = columns
    var eventCounts = [UInt64](repeating: 0, count: libraries.count)
    /// By library, in the order of their first events.
    var unknown = [[Int32]](repeating: [], count: libraries.count)
    let (headers, itemIndices) = (columns.kinds[...], columns.itemIndices[...])
    let itemSpan = itemIndices.span
    let kinds = headers.span
    var next = cursor.item
    var nextShape = cursor.shape
    for event in cursor.event..<end where kinds[event].isEvent {
      let index = Int(itemSpan[next])
      next += 1
      let library = Int(items[index].library)
      eventCounts[library] += 1
      if items[index].slot == Item.notAskedFor {
        items[index].slot = Item.askedFor
        unknown[library].append(Int32(index))
      }
      if kinds[event].hasFields {
        internNames(of: Int(columns.shapeIndices[nextShape]), &state)
        nextShape += 1
      }
    }
    for (library, count) in eventCounts.enumerated() where count > 0 {
      if libraries[library] < 0 {
        libraries[library] = columns.libraries[library].withUTF8Bytes { state.intern(library: $0) }.index
      }
      state.tables[Int(libraries[library])].eventCount &+= count
      intern(unknown[library], in: &state.tables[Int(libraries[library])])
    }
  }

  /// Looks up several items at a time: each waits for memory twice, and the waits overlap.
  private mutating func intern(_ indices: [Int32], in table: inout ItemTable) {
    let columns = columns
    let texts = columns.texts
    let blockItems = columns.items[...]
    let known = blockItems.span
    // Valid until the table is written to.
    var finder = table.ids.finder
    let soughtTogether = InternTable<ItemRecord>.soughtTogether
    withUnsafeTemporaryAllocation(of: InternTable<ItemRecord>.Probe.self, capacity: soughtTogether) {
      sought in
      var first = 0
      while first < indices.count {
        let count = min(soughtTogether, indices.count - first)
        for index in 0..<count {
          sought.initializeElement(
            at: index, to: finder.seek(texts.bytes(known[Int(indices[first + index])].id)))
        }
        for index in 0..<count { finder.seekRecord(sought[index]) }
        for index in 0..<count {
          let item = Int(indices[first + index])
          if let found = finder.find(sought[index]) {
            items[item].slot = found
          } else {
            items[item].slot = table.intern(texts.bytes(known[item].id), sought[index]).index
            finder = table.ids.finder
          }
        }
        first += count
      }
    }
  }

  private mutating func internNames(of shape: Int, _ state: inout FavoritesState) {
    for index in shapeStarts[shape]..<shapeStarts[shape + 1] where members[index].name < 0 {
      let member = columns.shapes[Int(members[index].shape)].members[Int(members[index].index)]
      members[index].name = member.name.withUTF8Bytes { state.fieldNames.intern($0) }.index
    }
  }
}
