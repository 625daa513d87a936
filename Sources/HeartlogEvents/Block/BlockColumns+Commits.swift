extension BlockColumns {
  /// Puts the commits together again.
  func commits(
    replica: ReplicaID, firstCommit: CommitNumber, firstSequence: SequenceNumber
  ) throws(MalformedError) -> [Commit] {
    var cursor = Cursor(valueColumnCount: values.count)
    var result: [Commit] = []
    result.reserveCapacity(commits.eventCounts.count)
    for place in commits.eventCounts.indices {
      let wallTime = commits.wallTimes[place]
      let sequence = SequenceNumber(rawValue: firstSequence.rawValue + UInt64(cursor.event))
      var records: [EventRecord] = []
      records.reserveCapacity(commits.eventCounts[place])
      for _ in 0..<commits.eventCounts[place] {
        records.append(try nextRecord(&cursor, wallTime: wallTime))
      }
      result.append(
        Commit(
          replica: replica, number: CommitNumber(rawValue: firstCommit.rawValue + UInt64(place)),
          firstSequence: sequence, stamp: commits.stamps[place], wallTime: wallTime,
          origin: commits.origins[place], heads: commits.heads[place],
          unknownMembers: commits.members[place], records: records))
    }
    return result
  }

  /// How far each column was used. The columns' counts were taken from `kinds` and `shapes`, so that none ends
  /// early.
  private struct Cursor {
    var event = 0
    var item = 0
    var favoritedDate = 0
    var shape = 0
    var members = 0
    var withheld = 0
    var unknown = 0
    var values: [Int]

    init(valueColumnCount: Int) { values = [Int](repeating: 0, count: valueColumnCount) }
  }

  private func nextRecord(
    _ cursor: inout Cursor, wallTime: Milliseconds
  ) throws(MalformedError) -> EventRecord {
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
      let (date, overflow) = wallTime.addingReportingOverflow(favoritedDates[cursor.favoritedDate])
      cursor.favoritedDate += 1
      guard !overflow else { throw MalformedError("a favorited date past 64 bits") }
      try Event.checkFavoritedDate(date, wallTime: wallTime)
      favoritedDate = date
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
        library: item.library, item: item.id, action: action, favoritedDate: favoritedDate, fields: fields,
        unknownMembers: members))
  }

  private func nextValue(of member: Shape.Member, _ cursor: inout Cursor) -> FieldValue {
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
