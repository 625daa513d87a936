/// Puts the commits of a block together, one after the other. A text is made a string at its first use.
struct CommitAssembly {
  private let columns: BlockColumns
  private(set) var cursor: BlockColumns.Cursor
  private var items: [String?]

  init(_ columns: BlockColumns, at cursor: BlockColumns.Cursor) {
    self.columns = columns
    self.cursor = cursor
    items = [String?](repeating: nil, count: columns.items.count)
  }

  mutating func nextRecord() -> EventRecord {
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
