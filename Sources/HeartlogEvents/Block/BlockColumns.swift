/// The columns of a block, read and checked value by value: every place points at something, every name and
/// value is one that the format allows.
///
/// Texts stand here once for each distinct item, name and origin, so that a reader who wants no commits can
/// take them from here.
package struct BlockColumns: Sendable {
  /// A distinct item.
  package struct Item: Sendable {
    /// Its place in `libraries`.
    package let library: Int
    package let id: String
  }

  package let commits: CommitColumns
  package let kinds: [EventHead]
  package let libraries: [String]
  /// The distinct items, and for each event that has one, its place among them.
  package let items: [Item]
  package let itemPlaces: [Int]
  /// Of the events that have one.
  package let favoritedDates: [Milliseconds]
  package let shapes: [Shape]
  /// For each event that has fields, its place in `shapes`.
  package let shapePlaces: [Int]
  /// What the shapes' `values` points at.
  package let values: [ValueColumn]
  let eventMembers: [[UnknownMember]]
  let withheldHashes: [EventHash]
  let unknownEvents: [EventRecord]

  /// - Parameters:
  ///   - commitCount, eventCount: bounded by `Limits.blockEventsMax`.
  init(
    _ table: inout ColumnTable, replica: ReplicaID, commitCount: Int, eventCount: Int,
    firstStamp: HybridTimestamp
  ) throws(MalformedError) {
    commits = try CommitColumns(
      &table, replica: replica, commitCount: commitCount, eventCount: eventCount, firstStamp: firstStamp)
    kinds = try table.kinds(.kinds, count: eventCount)
    var itemEventCount = 0
    var dateCount = 0
    var fieldsCount = 0
    var membersCount = 0
    var withheldCount = 0
    for kind in kinds {
      if kind.isEvent { itemEventCount += 1 } else if kind == .withheld { withheldCount += 1 }
      if kind.hasFavoritedDate { dateCount += 1 }
      if kind.hasFields { fieldsCount += 1 }
      if kind.hasMembers { membersCount += 1 }
    }
    let newItems = try NewOrKnown(try table.ints(.itemPlaces, count: itemEventCount), what: "an item")
    itemPlaces = newItems.places
    (libraries, items) = try Self.items(&table, count: newItems.distinctCount)
    favoritedDates = try Self.favoritedDates(
      try table.ints(.favoritedDates, count: dateCount), of: kinds, commits: commits)
    let newShapes = try NewOrKnown(try table.ints(.shapePlaces, count: fieldsCount), what: "a shape")
    shapePlaces = newShapes.places
    (shapes, values) = try Self.shapes(&table, newShapes)
    eventMembers = try table.opaque(.eventMembers, count: membersCount) {
      (reader) throws(MalformedError) in try RowEncoding.readCheckedMembers(from: &reader)
    }
    withheldHashes = try table.opaque(.withheldHashes, count: withheldCount) {
      (reader) throws(MalformedError) in try reader.digest()
    }
    unknownEvents = try table.opaque(.unknownEvents, count: eventCount - itemEventCount - withheldCount) {
      (reader) throws(MalformedError) in
      let record = EventRecord.unknown(kind: try reader.varint(), bytes: Array(try reader.lengthAndBytes()))
      try record.validate(wallTime: 0)
      return record
    }
    try table.end()
  }

  private static func items(
    _ table: inout ColumnTable, count: Int
  ) throws(MalformedError) -> (libraries: [String], items: [Item]) {
    let libraryPlaces = try table.ints(.itemLibraries, count: count)
    let libraryCount = try firstUses(libraryPlaces, what: "a library")
    let libraries = try table.table(.libraries, count: libraryCount)
    for library in libraries { try NameRules.checkLibrary(library) }
    var itemCounts = [Int](repeating: 0, count: libraryCount)
    for place in libraryPlaces { itemCounts[Int(place)] += 1 }
    var ids: [[String]] = []
    for library in 0..<libraryCount {
      ids.append(try table.strings(.items(library: library), count: itemCounts[library]))
      for id in ids[library] { try NameRules.checkItem(id) }
    }
    var next = [Int](repeating: 0, count: libraryCount)
    var items: [Item] = []
    items.reserveCapacity(count)
    for place in libraryPlaces {
      let library = Int(place)
      items.append(Item(library: library, id: ids[library][next[library]]))
      next[library] += 1
    }
    return (libraries, items)
  }

  /// - Parameter offsets: the dates, less the wall times of their commits.
  private static func favoritedDates(
    _ offsets: [Int64], of kinds: [EventHead], commits: CommitColumns
  ) throws(MalformedError) -> [Milliseconds] {
    guard !offsets.isEmpty else { return [] }
    var dates: [Milliseconds] = []
    dates.reserveCapacity(offsets.count)
    var event = 0
    for (place, eventCount) in commits.eventCounts.enumerated() {
      let wallTime = commits.wallTimes[place]
      for kind in kinds[event..<event + eventCount] where kind.hasFavoritedDate {
        let (date, overflow) = wallTime.addingReportingOverflow(offsets[dates.count])
        guard !overflow else { throw MalformedError("a favorited date past 64 bits") }
        try Event.checkFavoritedDate(date, wallTime: wallTime)
        dates.append(date)
      }
      event += eventCount
    }
    return dates
  }
}

extension BlockColumns {
  /// Places in a table that is filled by first use, so that each is at most one more than those before it.
  /// Returns how many there are.
  static func firstUses(_ places: [Int64], what: StaticString) throws(MalformedError) -> Int {
    var count: Int64 = 0
    for place in places {
      guard place >= 0, place <= count else { throw MalformedError("\(what) at place \(place) of \(count)") }
      if place == count { count += 1 }
    }
    return Int(count)
  }

  /// A column in which 0 stands for the next new thing, and other numbers for the place of a known one, from 1.
  struct NewOrKnown {
    private(set) var places: [Int] = []
    private(set) var distinctCount = 0

    init(_ values: [Int64], what: StaticString) throws(MalformedError) {
      places.reserveCapacity(values.count)
      for value in values {
        guard value >= 0, value <= Int64(distinctCount) else {
          throw MalformedError("\(what) at place \(value) of \(distinctCount)")
        }
        if value == 0 {
          places.append(distinctCount)
          distinctCount += 1
        } else {
          places.append(Int(value) - 1)
        }
      }
    }
  }
}

extension RowEncoding {
  static func readCheckedMembers(from reader: inout ByteReader) throws(MalformedError) -> [UnknownMember] {
    let members = try readMembers(from: &reader)
    try UnknownMember.validate(members)
    return members
  }
}
