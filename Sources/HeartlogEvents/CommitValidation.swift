extension Commit {
  /// Checks every rule that the format states for one commit: names, values, order, numbers, times, size.
  ///
  /// What decoding returns was checked; this is for commits that were made otherwise.
  package func validate() throws(MalformedError) {
    try validateHeader()
    try validateRecords()
    try Self.checkByteCount(RowEncoding.byteCount(of: self))
  }

  static func checkByteCount(_ count: Int) throws(MalformedError) {
    guard count <= Limits.commitBytesMax else {
      throw MalformedError("a commit of \(count) bytes, the most is \(Limits.commitBytesMax)")
    }
  }

  func validateRecords() throws(MalformedError) {
    try contents.forEach { (record) throws(MalformedError) in try record.validate(wallTime: wallTime) }
  }

  /// All but the records themselves.
  func validateHeader() throws(MalformedError) {
    let eventCount = eventCount
    guard (1...Limits.numberMax).contains(number.rawValue) else {
      throw MalformedError("commit number \(number)")
    }
    guard eventCount > 0, eventCount <= Limits.commitEventsMax else {
      throw MalformedError("a commit of \(eventCount) events, the most is \(Limits.commitEventsMax)")
    }
    guard firstSequence.rawValue >= 1,
      firstSequence.rawValue <= Limits.numberMax - UInt64(eventCount - 1)
    else { throw MalformedError("sequence number \(firstSequence) for \(eventCount) events") }
    guard stamp <= .last else { throw MalformedError("a stamp after the year 2999") }
    guard wallTime >= 0 else { throw MalformedError("a wall time before 1970") }
    guard wallTime <= Limits.timeMillisecondsMax else {
      throw MalformedError("a wall time after the year 2999")
    }
    if let origin { try NameRules.checkOrigin(origin) }
    try Head.validate(heads, of: replica)
    try UnknownMember.validate(unknownMembers)
  }
}

extension Head {
  /// Checks a vector of heads in the stream of `own`: sorted by replica, each once, none its own.
  static func validate(_ heads: [Head], of own: ReplicaID) throws(MalformedError) {
    guard heads.count <= Limits.headsMax else {
      throw MalformedError("\(heads.count) heads, the most is \(Limits.headsMax)")
    }
    for (index, head) in heads.enumerated() {
      guard index == 0 || heads[index - 1].replica < head.replica else {
        throw MalformedError("heads that are not sorted by replica")
      }
      guard head.replica != own else { throw MalformedError("a head of the stream's own replica") }
      guard (1...Limits.numberMax).contains(head.commit.rawValue) else {
        throw MalformedError("a head at commit number \(head.commit)")
      }
    }
  }
}

extension UnknownMember {
  static func validate(_ members: [UnknownMember]) throws(MalformedError) {
    guard members.count > 1 else { return }
    for index in 1..<members.count where members[index - 1].tag >= members[index].tag {
      throw MalformedError("members that are not sorted by tag")
    }
  }
}

extension EventRecord {
  /// - Parameter wallTime: the commit's; a favorited date that equals it is left out.
  func validate(wallTime: Milliseconds) throws(MalformedError) {
    switch self {
    case .withheld: return
    case .unknown(let kind, _):
      guard kind >= 8 else { throw MalformedError("an event of a later version with kind \(kind)") }
    case .event(let event):
      try event.validate(wallTime: wallTime)
    }
  }
}

extension Event {
  /// Checks names, values, order and dates.
  ///
  /// - Parameter wallTime: the commit's; a favorited date that equals it is left out.
  package func validate(wallTime: Milliseconds) throws(MalformedError) {
    try NameRules.checkLibrary(library)
    try NameRules.checkItem(item)
    for field in fields { try NameRules.checkFieldName(field.name) }
    try validateContent(wallTime: wallTime)
  }

  /// Checks all but the names, which the caller has looked at.
  package func validateContent(wallTime: Milliseconds) throws(MalformedError) {
    if let favoritedDate {
      guard action.isFavorite == true else {
        throw MalformedError("a favorited date with an event that makes no favorite")
      }
      try Self.checkFavoritedDate(favoritedDate, wallTime: wallTime)
    }
    if action == .changed, fields.isEmpty, unknownMembers.isEmpty {
      throw MalformedError("a change without fields")
    }
    for index in fields.indices {
      guard index == 0 || fields[index - 1].name.bytesPrecede(fields[index].name) else {
        throw MalformedError("fields that are not sorted by the bytes of their names")
      }
      do throws(MalformedError) { try fields[index].value.validate() } catch {
        throw MalformedError("field \"\(fields[index].name)\": \(error.reason)")
      }
    }
    try UnknownMember.validate(unknownMembers)
  }

  static func checkFavoritedDate(_ date: Milliseconds, wallTime: Milliseconds) throws(MalformedError) {
    guard date >= Limits.dateMillisecondsMin, date <= Limits.dateMillisecondsMax else {
      throw MalformedError("a favorited date outside the years 0000 to 9999")
    }
    guard date != wallTime else {
      throw MalformedError("a favorited date that repeats the commit's wall time")
    }
  }
}

extension FieldValue {
  func validate() throws(MalformedError) {
    switch self {
    case .null, .bool, .int64: return
    case .double(let value):
      guard value.isFinite else { throw MalformedError("a number that is not finite") }
      guard Int64(exactly: value) == nil else {
        throw MalformedError("a whole number as a double")
      }
    case .string(let text):
      try Self.checkByteCount(text.utf8.count)
    case .json(let json):
      try Self.checkByteCount(json.text.utf8.count)
    case .unknown(let tag, _):
      guard ValueTag.unknown.contains(tag) else {
        throw MalformedError("a value of a later version with tag \(tag)")
      }
    }
  }

  static func checkByteCount(_ count: Int) throws(MalformedError) {
    guard count <= Limits.valueBytesMax else {
      throw MalformedError("a value of \(count) bytes, the most is \(Limits.valueBytesMax)")
    }
  }
}
