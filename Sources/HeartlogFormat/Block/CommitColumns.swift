/// The columns of a block that describe its commits rather than their events, read and checked.
package struct CommitColumns: Sendable {
  /// The index of each commit's first event, followed by the number of all events.
  package let eventStarts: [Int32]
  /// Strictly rising.
  package let stamps: [HybridTimestamp]
  package let wallTimes: [Milliseconds]
  /// The distinct origins, and for each commit 0 for none, or the index of its origin among them, from 1.
  package let origins: [String]
  package let originIndices: [Int32]
  package let heads: SparseColumn<[Head]>
  let members: SparseColumn<[UnknownMember]>

  package var count: Int { stamps.count }

  /// The number of events of the commit at an index: at least one.
  @inline(__always)
  package func eventCount(at index: Int) -> Int { Int(eventStarts[index + 1] - eventStarts[index]) }

  /// The number of events of the commits at these indices.
  package func eventCount(in indices: Range<Int>) -> Int {
    Int(eventStarts[indices.upperBound] - eventStarts[indices.lowerBound])
  }

  package func origin(at index: Int) -> String? {
    let origin = Int(originIndices[index])
    return origin == 0 ? nil : origins[origin - 1]
  }

  init(
    _ table: inout ColumnReader, replica: ReplicaID, commitCount: Int, eventCount: Int,
    firstStamp: HybridTimestamp
  ) throws(MalformedError) {
    eventStarts = try Self.eventStarts(&table, commitCount: commitCount, eventCount: eventCount)
    stamps = try Self.stamps(&table, first: firstStamp, count: commitCount)
    wallTimes = try Self.wallTimes(&table, stamps)
    (origins, originIndices) = try Self.origins(&table, commitCount: commitCount)
    var indicesWithHeads: [Int32] = []
    var indicesWithMembers: [Int32] = []
    let parts = try Values(&table, .commitParts, count: commitCount)
    if parts.constant != 0 {
      for index in 0..<commitCount {
        let part = parts[index]
        guard (0...3).contains(part) else { throw MalformedError("a commit with parts \(part)") }
        if part & 1 != 0 { indicesWithHeads.append(Int32(index)) }
        if part & 2 != 0 { indicesWithMembers.append(Int32(index)) }
      }
    }
    heads = SparseColumn(
      commitIndices: indicesWithHeads,
      values: try table.opaque(.heads, count: indicesWithHeads.count) { (reader) throws(MalformedError) in
        let heads = try RowEncoding.readSomeHeads(from: &reader)
        try Head.validate(heads, of: replica)
        return heads
      })
    members = SparseColumn(
      commitIndices: indicesWithMembers,
      values: try table.opaque(.commitMembers, count: indicesWithMembers.count) {
        (reader) throws(MalformedError) in try RowEncoding.readCheckedMembers(from: &reader)
      })
  }

  /// The numbers of a column that mostly has a single value.
  private struct Values {
    /// The value of all of them; nil if they differ.
    let constant: Int64?
    private let values: [Int64]

    init(_ table: inout ColumnReader, _ key: ColumnKey, count: Int) throws(MalformedError) {
      constant = try table.constant(key, count: count)
      values =
        constant != nil
        ? []
        : try Array(count: count) { (output) throws(MalformedError) in try table.ints(key, into: output) }
    }

    @inline(__always)
    subscript(index: Int) -> Int64 { constant ?? values[index] }
  }

  private static func eventStarts(
    _ table: inout ColumnReader, commitCount: Int, eventCount: Int
  ) throws(MalformedError) -> [Int32] {
    let counts = try Values(&table, .eventCounts, count: commitCount)
    // Nearly every commit has one event.
    if counts.constant == 0, commitCount == eventCount { return Array(0...Int32(commitCount)) }
    return try Array(count: commitCount + 1) { (starts) throws(MalformedError) in
      var start = 0
      for index in 0..<commitCount {
        let value = counts[index]
        guard value >= 0, value < Int64(eventCount - start) else {
          throw MalformedError("a commit of \(value) events and one")
        }
        starts.initializeElement(at: index, to: Int32(truncatingIfNeeded: start))
        start += Int(value) + 1
      }
      guard start == eventCount else {
        throw MalformedError("\(eventCount - start) events that belong to no commit")
      }
      starts.initializeElement(at: commitCount, to: Int32(truncatingIfNeeded: start))
    }
  }

  private static func stamps(
    _ table: inout ColumnReader, first: HybridTimestamp, count: Int
  ) throws(MalformedError) -> [HybridTimestamp] {
    guard first <= .last else { throw MalformedError("a stamp after the year 2999") }
    let counters = try Values(&table, .stampCounters, count: count - 1)
    let deltas = try table.ints(.stampMilliseconds, count: count - 1)
    return try Array(count: count) { (stamps) throws(MalformedError) in
      stamps.initializeElement(at: 0, to: first)
      var milliseconds = first.milliseconds
      if counters.constant == 0, risesEachMillisecond(deltas, from: milliseconds) {
        for (index, delta) in deltas.enumerated() {
          milliseconds &+= delta
          stamps.initializeElement(
            at: index + 1, to: HybridTimestamp(rawValue: UInt64(bitPattern: milliseconds) << 16))
        }
        return
      }
      var counter = Int64(first.counter)
      for (index, delta) in deltas.enumerated() {
        let counterDelta = counters[index]
        // A counter that does not rise and a missing carry both leave the range of a counter.
        let expected = delta == 0 ? counter + 1 : 0
        guard delta >= 0, delta <= Limits.timeMillisecondsMax - milliseconds, counterDelta >= 0,
          counterDelta <= Int64(UInt16.max) - expected
        else { throw MalformedError("stamps that do not rise, or pass the year 2999") }
        milliseconds += delta
        counter = expected + counterDelta
        stamps.initializeElement(
          at: index + 1,
          to: HybridTimestamp(rawValue: UInt64(bitPattern: milliseconds) << 16 | UInt64(bitPattern: counter)))
      }
    }
  }

  /// Whether no two stamps are in the same millisecond, and none is after the year 2999.
  private static func risesEachMillisecond(
    _ deltas: UnsafeMutableBufferPointer<Int64>, from first: Milliseconds
  ) -> Bool {
    var smallest = Int64.max
    var largest: Int64 = 0
    var last = first
    for delta in deltas {
      smallest = min(smallest, delta)
      largest = max(largest, delta)
      last &+= delta
    }
    // With at most 50,000 values, none longer than all time, the sum does not overflow: 50,000 times 2^45.
    return smallest > 0 && largest <= Limits.timeMillisecondsMax && last <= Limits.timeMillisecondsMax
  }

  private static func wallTimes(
    _ table: inout ColumnReader, _ stamps: [HybridTimestamp]
  ) throws(MalformedError) -> [Milliseconds] {
    let offsets = try Values(&table, .wallTimes, count: stamps.count)
    if offsets.constant == 0 { return stamps.map(\.milliseconds) }
    return try Array(count: stamps.count) { (wallTimes) throws(MalformedError) in
      for index in stamps.indices {
        let (wallTime, overflow) = stamps[index].milliseconds.addingReportingOverflow(offsets[index])
        guard !overflow, wallTime >= 0, wallTime <= Limits.timeMillisecondsMax else {
          throw MalformedError("a wall time outside the years 1970 to 2999")
        }
        wallTimes.initializeElement(at: index, to: wallTime)
      }
    }
  }

  private static func origins(
    _ table: inout ColumnReader, commitCount: Int
  ) throws(MalformedError) -> (origins: [String], indices: [Int32]) {
    let values = try Values(&table, .originIndices, count: commitCount)
    var count: Int64 = 0
    let indices: [Int32]
    if let constant = values.constant, constant == 0 || constant == 1 {
      count = constant
      indices = [Int32](repeating: Int32(constant), count: commitCount)
    } else {
      indices = try Array(count: commitCount) { (indices) throws(MalformedError) in
        for index in 0..<commitCount {
          let origin = values[index]
          guard origin >= 0, origin <= count + 1 else {
            throw MalformedError("an origin at place \(origin) of \(count)")
          }
          count = max(count, origin)
          indices.initializeElement(at: index, to: Int32(truncatingIfNeeded: origin))
        }
      }
    }
    let origins = try table.table(.origins, count: Int(count))
    for origin in origins { try NameRules.checkOrigin(origin) }
    return (origins, indices)
  }
}
