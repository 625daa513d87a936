import HeartlogEvents

/// Writes the events of a block into a state, one after the other, from the columns.
///
/// A name is interned at its first use, and then is a small integer for the rest of the block: what is withheld or applied
/// already leaves no name.
struct BlockPlayer {
  private let columns: BlockColumns
  private var cursor: BlockColumns.Cursor
  /// Slots by place in the block; -1 for what was not asked for yet.
  private var libraries: [Int32]
  private var items: [Int32]
  /// The members of all shapes, one shape after the other, and where each shape's begin and the last's end.
  private var members: [Member] = []
  private var shapeStarts: [Int] = [0]
  /// Events by library that were not counted in the state yet.
  private var eventCounts: [UInt64]

  private struct Member {
    /// Of the field's name; -1 as long as it was not asked for.
    var name: Int32 = -1
    /// Of the column that holds the value; -1 for those that have none.
    let column: Int32
    let tag: UInt8
    let isQuiet: Bool
    /// The shape's, and the member's among its.
    let shape: Int32
    let place: Int32
  }

  /// In front of the block's first event.
  init(_ block: ColumnBlock) {
    columns = block.columns
    cursor = block.start
    libraries = [Int32](repeating: -1, count: columns.libraries.count)
    items = [Int32](repeating: -1, count: columns.items.count)
    eventCounts = [UInt64](repeating: 0, count: columns.libraries.count)
    for (shape, members) in columns.shapes.map(\.members).enumerated() {
      for (place, member) in members.enumerated() {
        self.members.append(
          Member(
            column: member.values.map(Int32.init) ?? -1, tag: member.tag, isQuiet: member.isQuiet,
            shape: Int32(shape), place: Int32(place)))
      }
      shapeStarts.append(self.members.count)
    }
  }

  /// Passes over events.
  mutating func skip(_ count: Int) { columns.skip(count, &cursor) }

  /// Writes the next event, if it is one that writes anything.
  @inline(__always)
  mutating func playNext(at position: WritePosition, wallTime: Milliseconds, on state: inout FavoritesState) {
    let kind = columns.kinds[cursor.event]
    guard kind.isEvent else {
      columns.skip(1, &cursor)
      return
    }
    cursor.event += 1
    if kind.hasMembers { cursor.passMembers() }
    let (library, item) = nextItem(&state)
    if let isFavorite = kind.membership {
      var date = wallTime
      if kind.hasFavoritedDate {
        date = columns.favoritedDates[cursor.favoritedDate]
        cursor.favoritedDate += 1
      }
      state.writeMembership(
        of: item, in: library, isFavorite: isFavorite, favoritedDate: date, at: position)
    }
    if kind.hasFields { playFields(of: item, in: library, at: position, on: &state) }
  }

  /// Counts the events that were written.
  mutating func countEvents(in state: inout FavoritesState) {
    for (place, count) in eventCounts.enumerated() where count > 0 {
      state.countEvents(count, in: LibrarySlot(index: libraries[place]))
      eventCounts[place] = 0
    }
  }

  @inline(__always)
  private mutating func nextItem(_ state: inout FavoritesState) -> (LibrarySlot, ItemSlot) {
    let place = Int(columns.itemPlaces[cursor.item])
    cursor.item += 1
    let library = Int(columns.items[place].library)
    if items[place] < 0 { intern(place, library, &state) }
    eventCounts[library] += 1
    return (LibrarySlot(index: libraries[library]), ItemSlot(index: items[place]))
  }

  @inline(never)
  private mutating func intern(_ place: Int, _ library: Int, _ state: inout FavoritesState) {
    if libraries[library] < 0 {
      libraries[library] = columns.libraries[library].withBytes { state.intern(library: $0) }.index
    }
    let id = columns.texts.bytes(columns.items[place].id)
    items[place] = state.intern(item: id, in: LibrarySlot(index: libraries[library])).index
  }

  private mutating func playFields(
    of item: ItemSlot, in library: LibrarySlot, at position: WritePosition, on state: inout FavoritesState
  ) {
    let shape = Int(columns.shapePlaces[cursor.shape])
    cursor.shape += 1
    for place in shapeStarts[shape]..<shapeStarts[shape + 1] {
      if members[place].name < 0 { internName(of: place, &state) }
      let member = members[place]
      let column = Int(member.column)
      var word: Int64 = 0
      if column >= 0 {
        word = columns.words[cursor.values[column]]
        cursor.values[column] += 1
      }
      state.writeField(
        FieldNameSlot(index: member.name), of: item, in: library, value: columns.value(word, tag: member.tag),
        isQuiet: member.isQuiet, at: position)
    }
  }

  private mutating func internName(of place: Int, _ state: inout FavoritesState) {
    let member = columns.shapes[Int(members[place].shape)].members[Int(members[place].place)]
    members[place].name = member.name.withBytes { state.intern(fieldName: $0) }.index
  }
}
