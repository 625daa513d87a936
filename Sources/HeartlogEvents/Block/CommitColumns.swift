/// The columns of a block that tell of its commits rather than of their events, read and checked.
package struct CommitColumns: Sendable {
  /// Each at least 1; together the block's.
  package let eventCounts: [Int]
  /// Strictly rising.
  package let stamps: [HybridTimestamp]
  package let wallTimes: [Milliseconds]
  let origins: [String?]
  package let heads: [[Head]]
  let members: [[UnknownMember]]

  init(
    _ table: inout ColumnTable, replica: ReplicaID, commitCount: Int, eventCount: Int,
    firstStamp: HybridTimestamp
  ) throws(MalformedError) {
    eventCounts = try Self.eventCounts(
      try table.ints(.eventCounts, count: commitCount), eventCount: eventCount)
    stamps = try Self.stamps(
      firstStamp, milliseconds: try table.ints(.stampMilliseconds, count: commitCount - 1),
      counters: try table.ints(.stampCounters, count: commitCount - 1))
    let offsets = try table.ints(.wallTimes, count: commitCount)
    var wallTimes: [Milliseconds] = []
    wallTimes.reserveCapacity(commitCount)
    for (stamp, offset) in zip(stamps, offsets) {
      let (wallTime, overflow) = stamp.milliseconds.addingReportingOverflow(offset)
      guard !overflow, wallTime >= 0, wallTime <= Limits.timeMillisecondsMax else {
        throw MalformedError("a wall time outside the years 1970 to 2999")
      }
      wallTimes.append(wallTime)
    }
    self.wallTimes = wallTimes
    origins = try Self.origins(&table, commitCount: commitCount)
    let parts = try table.ints(.commitParts, count: commitCount)
    for part in parts where !(0...3).contains(part) {
      throw MalformedError("a commit with parts \(part)")
    }
    let headsOfSome = try table.opaque(.heads, count: parts.count { $0 & 1 != 0 }) {
      (reader) throws(MalformedError) in
      let heads = try RowEncoding.readHeads(from: &reader)
      guard !heads.isEmpty else { throw MalformedError("heads that are announced and absent") }
      try Head.validate(heads, of: replica)
      return heads
    }
    let membersOfSome = try table.opaque(.commitMembers, count: parts.count { $0 & 2 != 0 }) {
      (reader) throws(MalformedError) in try RowEncoding.readCheckedMembers(from: &reader)
    }
    heads = Self.spread(headsOfSome, over: parts, bit: 1)
    members = Self.spread(membersOfSome, over: parts, bit: 2)
  }

  private static func eventCounts(
    _ values: [Int64], eventCount: Int
  ) throws(MalformedError) -> [Int] {
    var counts: [Int] = []
    counts.reserveCapacity(values.count)
    var left = Int64(eventCount)
    for value in values {
      guard value >= 0, value < left else { throw MalformedError("a commit of \(value) events and one") }
      left -= value + 1
      counts.append(Int(value) + 1)
    }
    guard left == 0 else { throw MalformedError("\(left) events that belong to no commit") }
    return counts
  }

  private static func stamps(
    _ first: HybridTimestamp, milliseconds: [Int64], counters: [Int64]
  ) throws(MalformedError) -> [HybridTimestamp] {
    guard first <= .last else { throw MalformedError("a stamp after the year 2999") }
    var stamps = [first]
    stamps.reserveCapacity(milliseconds.count + 1)
    var last = first
    for (delta, counterDelta) in zip(milliseconds, counters) {
      // A counter that does not rise, and a carry that was not made, both leave the range of a counter.
      let expected = delta == 0 ? Int64(last.counter) + 1 : 0
      guard delta >= 0, delta <= Limits.timeMillisecondsMax - last.milliseconds,
        counterDelta >= 0, counterDelta <= Int64(UInt16.max) - expected
      else { throw MalformedError("stamps that do not rise, or pass the year 2999") }
      last = HybridTimestamp(
        rawValue: UInt64(last.milliseconds + delta) << 16 | UInt64(expected + counterDelta))
      stamps.append(last)
    }
    return stamps
  }

  private static func origins(
    _ table: inout ColumnTable, commitCount: Int
  ) throws(MalformedError) -> [String?] {
    let places = try table.ints(.originPlaces, count: commitCount)
    let count = try BlockColumns.firstUses(places.filter { $0 != 0 }.map { $0 &- 1 }, what: "an origin")
    let origins = try table.table(.origins, count: count)
    for origin in origins { try NameRules.checkOrigin(origin) }
    return places.map { $0 == 0 ? nil : origins[Int($0) - 1] }
  }

  private static func spread<Value>(_ values: [[Value]], over parts: [Int64], bit: Int64) -> [[Value]] {
    var rest = values.makeIterator()
    return parts.map { $0 & bit == 0 ? [] : rest.next() ?? [] }
  }
}
