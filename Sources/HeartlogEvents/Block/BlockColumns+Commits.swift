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
    package var values: [Int]

    package mutating func passMembers() { members += 1 }
  }

  /// In front of the first event.
  package var start: Cursor { Cursor(values: [Int](repeating: 0, count: values.count)) }

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
      for member in shapes[shapePlaces[cursor.shape]].members {
        if let column = member.values { cursor.values[column] += 1 }
      }
      cursor.shape += 1
    }
    cursor.event += count
  }

  func nextRecord(_ cursor: inout Cursor) -> EventRecord {
    let kind = kinds[cursor.event]
    cursor.event += 1
    guard let action = kind.action else {
      if kind == .withheld {
        defer { cursor.withheld += 1 }
        return .withheld(withheldHashes[cursor.withheld])
      }
      defer { cursor.unknown += 1 }
      return unknownEvents[cursor.unknown]
    }
    let item = items[itemPlaces[cursor.item]]
    cursor.item += 1
    var favoritedDate: Milliseconds?
    if kind.hasFavoritedDate {
      favoritedDate = favoritedDates[cursor.favoritedDate]
      cursor.favoritedDate += 1
    }
    var fields: [Field] = []
    if kind.hasFields {
      let shape = shapes[shapePlaces[cursor.shape]]
      cursor.shape += 1
      fields.reserveCapacity(shape.members.count)
      for member in shape.members {
        fields.append(
          Field(name: member.name, value: nextValue(of: member, &cursor), isQuiet: member.isQuiet))
      }
    }
    var members: [UnknownMember] = []
    if kind.hasMembers {
      members = eventMembers[cursor.members]
      cursor.members += 1
    }
    return .event(
      Event(
        library: libraries[item.library], item: item.id, action: action, favoritedDate: favoritedDate,
        fields: fields, unknownMembers: members))
  }

  package func nextValue(of member: Shape.Member, _ cursor: inout Cursor) -> FieldValue {
    guard let column = member.values else {
      return member.tag == ValueTag.null ? .null : .bool(member.tag == ValueTag.yes)
    }
    let place = cursor.values[column]
    cursor.values[column] = place + 1
    return switch values[column] {
    case .ints(let values): .int64(values[place])
    case .doubles(let values): .double(values[place])
    case .strings(let values): .string(values[place])
    case .json(let values): .json(values[place])
    case .opaque(let values, let tag): .unknown(tag: tag, bytes: values[place])
    }
  }
}
