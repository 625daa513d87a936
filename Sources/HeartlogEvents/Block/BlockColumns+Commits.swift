extension BlockColumns {
  /// How far each column was used. The columns' counts were taken from `kinds` and `shapes`, so that none ends
  /// early.
  package struct Cursor: Sendable {
    package var event = 0
    package var item = 0
    package var favoritedDate = 0
    package var shape = 0
    var members = 0
    var withheld = 0
    var unknown = 0
    /// By value column, a place in `words`.
    package var values: [Int]
  }

  /// In front of the first event.
  package var start: Cursor { Cursor(values: values.map(\.range.lowerBound)) }

  /// Passes over events.
  package func skip(_ count: Int, _ cursor: inout Cursor) {
    for kind in kinds[cursor.event..<cursor.event + count] {
      if kind.isEvent {
        cursor.item += 1
      } else if kind == .withheld {
        cursor.withheld += 1
      } else {
        cursor.unknown += 1
      }
      if kind.hasFavoritedDate { cursor.favoritedDate += 1 }
      if kind.hasMembers { cursor.members += 1 }
      guard kind.hasFields else { continue }
      for member in shapes[Int(shapePlaces[cursor.shape])].members {
        if let column = member.values { cursor.values[column] += 1 }
      }
      cursor.shape += 1
    }
    cursor.event += count
  }

  /// The value of a member of the next event: its bytes are valid as long as the columns.
  @inline(__always)
  func nextValue(of member: Shape.Member, _ cursor: inout Cursor) -> BorrowedValue {
    guard let column = member.values else { return value(0, tag: member.tag) }
    let word = words[cursor.values[column]]
    cursor.values[column] += 1
    return value(word, tag: member.tag)
  }

  /// The value of a member with that tag; where it has a column, what the word there says. Its bytes are valid as long as the columns.
  @inline(__always)
  package func value(_ word: Int64, tag: UInt8) -> BorrowedValue {
    switch tag {
    case ValueTag.null: .null
    case ValueTag.no, ValueTag.yes: .bool(tag == ValueTag.yes)
    case ValueTag.int64: .int64(word)
    case ValueTag.double: .double(Double(bitPattern: UInt64(bitPattern: word)))
    case ValueTag.string: .string(texts.bytes(TextSlice(word: word)))
    case ValueTag.json: .json(texts.bytes(TextSlice(word: word)))
    default: .unknown(tag: tag, bytes: texts.bytes(TextSlice(word: word)))
    }
  }
}

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
      fields.append(Field(name: member.name, value: FieldValue(value), isQuiet: member.isQuiet))
    }
    return fields
  }
}
