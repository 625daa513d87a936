/// Puts commits of a block together, each when it is asked for. A text is made a string at its first use.
package struct CommitAssembly {
  private let block: ColumnBlock
  private let columns: BlockColumns
  /// In front of the first event of the commit at `place`.
  private var cursor: BlockColumns.Cursor
  private var place: Int
  private var items: [String?]

  package init(_ block: ColumnBlock) {
    self.block = block
    columns = block.columns
    cursor = block.start
    place = block.places.lowerBound
    items = [String?](repeating: nil, count: columns.items.count)
  }

  /// The commit at a place of the block, behind those that were asked for before.
  package mutating func commit(at next: Int) -> Commit {
    let commits = columns.commits
    precondition(next >= place, "a commit that was passed")
    if next > place { columns.skip(commits.eventCount(in: place..<next), &cursor) }
    place = next + 1
    let eventCount = commits.eventCount(at: next)
    var records: [EventRecord] = []
    records.reserveCapacity(eventCount)
    for _ in 0..<eventCount { records.append(nextRecord()) }
    return Commit(
      replica: block.replica, number: block.number(at: next), firstSequence: block.sequence(at: next),
      stamp: commits.stamps[next], wallTime: commits.wallTimes[next], origin: commits.origin(at: next),
      heads: commits.heads[next] ?? [], unknownMembers: commits.members[next] ?? [], records: records)
  }

  private mutating func nextRecord() -> EventRecord {
    let kind = columns.kinds[cursor.event]
    cursor.event += 1
    guard let action = kind.action else {
      if kind == .withheld {
        cursor.withheld += 1
        return .withheld(columns.withheldHashes[cursor.withheld - 1])
      }
      cursor.unknown += 1
      return columns.unknownEvents[cursor.unknown - 1]
    }
    let item = Int(columns.itemPlaces[cursor.item])
    cursor.item += 1
    var favoritedDate: Milliseconds?
    if kind.hasFavoritedDate {
      favoritedDate = columns.favoritedDates[cursor.favoritedDate]
      cursor.favoritedDate += 1
    }
    let fields = kind.hasFields ? nextFields() : []
    var members: [UnknownMember] = []
    if kind.hasMembers {
      members = columns.eventMembers[cursor.members]
      cursor.members += 1
    }
    return .event(
      Event(
        library: columns.libraries[Int(columns.items[item].library)], item: id(of: item), action: action,
        favoritedDate: favoritedDate, fields: fields, unknownMembers: members))
  }

  private mutating func id(of item: Int) -> String {
    if let id = items[item] { return id }
    let id = columns.texts.string(columns.items[item].id)
    items[item] = id
    return id
  }

  private mutating func nextFields() -> [Field] {
    let shape = columns.shapes[Int(columns.shapePlaces[cursor.shape])]
    cursor.shape += 1
    var fields: [Field] = []
    fields.reserveCapacity(shape.members.count)
    for member in shape.members {
      let value = columns.nextValue(of: member, &cursor)
      fields.append(Field(name: member.name, value: FieldValue(copying: value), isQuiet: member.isQuiet))
    }
    return fields
  }
}
