import HeartlogEvents

extension FavoritesState {
  /// Applies the commits of a block, as `apply` does one after the other, without any of them being made.
  ///
  /// - Returns: how many of them had not been applied before.
  @discardableResult
  public mutating func apply(_ block: ColumnBlock) -> Int {
    var new: [ClosedRange<CommitNumber>] = []
    apply(block, new: &new)
    return new.reduce(0) { $0 + Int($1.upperBound.rawValue - $1.lowerBound.rawValue) + 1 }
  }

  /// Applies the commits of a block.
  ///
  /// - Parameter new: gets those that had not been applied before.
  package mutating func apply(_ block: ColumnBlock, new: inout [ClosedRange<CommitNumber>]) {
    let columns = block.columns
    let commits = columns.commits
    let kinds = columns.kinds
    let itemPlaces = columns.itemPlaces
    let replica = replicas.intern(block.replica)
    var names = BlockNames(columns)
    var cursor = block.start
    for place in block.places {
      let number = block.number(at: place)
      let eventCount = commits.eventCounts[place]
      let stamp = commits.stamps[place]
      let sequence = block.sequence(of: cursor)
      let isNew = begin(
        number, of: replica, stamp: stamp, firstSequence: sequence, eventCount: eventCount,
        heads: commits.heads[place])
      guard isNew else {
        columns.skip(eventCount, &cursor)
        continue
      }
      if let last = new.last, last.upperBound.next == number {
        new[new.count - 1] = last.lowerBound...number
      } else {
        new.append(number...number)
      }
      var position = WritePosition(stamp: stamp.rawValue, sequence: sequence.rawValue, replica: replica)
      for _ in 0..<eventCount {
        let kind = kinds[cursor.event]
        if kind.isEvent {
          let (library, item) = names.item(itemPlaces[cursor.item], &self)
          apply(
            kind, of: item, in: library, at: position, wallTime: commits.wallTimes[place], columns, &names,
            &cursor)
        } else {
          columns.skip(1, &cursor)
        }
        position.sequence += 1
      }
    }
  }

  @inline(__always)
  private mutating func apply(
    _ kind: EventHead, of item: ItemSlot, in library: LibrarySlot, at position: WritePosition,
    wallTime: Milliseconds, _ columns: BlockColumns, _ names: inout BlockNames,
    _ cursor: inout BlockColumns.Cursor
  ) {
    cursor.event += 1
    cursor.item += 1
    if kind.hasMembers { cursor.passMembers() }
    countEvents(1, in: library)
    if let isFavorite = kind.action?.isFavorite {
      var date = wallTime
      if kind.hasFavoritedDate {
        date = columns.favoritedDates[cursor.favoritedDate]
        cursor.favoritedDate += 1
      }
      writeMembership(of: item, in: library, isFavorite: isFavorite, favoritedDate: date, at: position)
    }
    guard kind.hasFields else { return }
    let shape = columns.shapePlaces[cursor.shape]
    cursor.shape += 1
    let members = columns.shapes[shape].members
    for place in members.indices {
      let name = names.field(place, of: shape, members[place].name, &self)
      columns.nextValue(of: members[place], &cursor).withBorrowed {
        writeField(name, of: item, in: library, value: $0, isQuiet: members[place].isQuiet, at: position)
      }
    }
  }
}

/// The slots of a block's names, each interned at its first use: what is withheld or applied already leaves no name.
private struct BlockNames {
  private let columns: BlockColumns
  /// -1 for what was not asked for yet.
  private var libraries: [Int32]
  private var items: [Int32]
  /// By shape, then by member.
  private var fields: [[Int32]]

  init(_ columns: BlockColumns) {
    self.columns = columns
    libraries = [Int32](repeating: -1, count: columns.libraries.count)
    items = [Int32](repeating: -1, count: columns.items.count)
    fields = columns.shapes.map { [Int32](repeating: -1, count: $0.members.count) }
  }

  @inline(__always)
  mutating func item(_ place: Int, _ state: inout FavoritesState) -> (LibrarySlot, ItemSlot) {
    if items[place] < 0 { intern(place, &state) }
    return (LibrarySlot(index: libraries[columns.items[place].library]), ItemSlot(index: items[place]))
  }

  private mutating func intern(_ place: Int, _ state: inout FavoritesState) {
    let item = columns.items[place]
    if libraries[item.library] < 0 {
      libraries[item.library] = columns.libraries[item.library].withBytes { state.intern(library: $0) }.index
    }
    let library = LibrarySlot(index: libraries[item.library])
    items[place] = item.id.withBytes { state.intern(item: $0, in: library) }.index
  }

  @inline(__always)
  mutating func field(
    _ place: Int, of shape: Int, _ name: String, _ state: inout FavoritesState
  ) -> FieldNameSlot {
    if fields[shape][place] < 0 {
      fields[shape][place] = name.withBytes { state.intern(fieldName: $0) }.index
    }
    return FieldNameSlot(index: fields[shape][place])
  }
}
