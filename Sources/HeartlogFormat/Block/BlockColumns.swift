/// The columns of a block, read and checked value by value: every index is in range, every name and
/// value is allowed by the format.
///
/// The rules of `EventView.validate` are checked for each distinct name and for each column: checking each event through a view instead
/// makes reading take 3.3 times as many instructions, 1,083 instead of 327 an event. `BlockEncodingTests` holds both checks equal.
///
/// Texts remain bytes in `texts`, stored once for each distinct item: a reader that needs no commits reads them from there, and no
/// string is created.
package final class BlockColumns: Sendable {
  /// A distinct item.
  package struct Item: Sendable, BitwiseCopyable {
    /// Its index in `libraries`.
    package let library: Int32
    package let id: TextSlice
  }

  package let commits: CommitColumns
  package let kinds: [EventHeader]
  package let libraries: [String]
  /// The distinct items, and the index of its item for each event that has one.
  package let items: [Item]
  package let itemIndices: [Int32]
  /// For events that have one.
  package let favoritedDates: [Milliseconds]
  package let shapes: [Shape]
  /// For each event that has fields, its index in `shapes`.
  package let shapeIndices: [Int32]
  /// The values that the shapes' `values` refer to.
  package let values: [ValueColumn]
  /// The values of all value columns, one column after the other.
  package let words: [Int64]
  /// The bytes that the slices of items and values refer to.
  package let texts: BlockTexts
  /// The size in rows of the fields of all events, except the values that have a column.
  let shapeRowByteCount: Int
  let eventMembers: [[UnknownMember]]
  let withheldHashes: [EventHash]
  let unknownEvents: [EventRecord]
  /// Whether any event is of a later version, or erases.
  package var hasUnknownEvents: Bool { !unknownEvents.isEmpty }
  /// Whether any event is withheld.
  package var hasWithheldEvents: Bool { !withheldHashes.isEmpty }

  /// - Parameters:
  /// - commitCount, eventCount: at most `Limits.blockEventsMax`.
  init(
    _ table: inout ColumnReader, replica: ReplicaID, commitCount: Int, eventCount: Int,
    firstStamp: HybridTimestamp
  ) throws(MalformedError) {
    var texts = TextBuilder(capacity: table.byteCount)
    commits = try CommitColumns(
      &table, replica: replica, commitCount: commitCount, eventCount: eventCount, firstStamp: firstStamp)
    kinds = try table.kinds(.kinds, count: eventCount)
    var end = Cursor(values: [])
    for kind in kinds { end.pass(kind) }
    let newItems = try NewOrKnown(try table.ints(.itemIndices, count: end.item), what: "an item")
    itemIndices = newItems.indices
    (libraries, items) = try Self.items(&table, count: newItems.distinctCount, texts: &texts)
    favoritedDates = try Self.favoritedDates(&table, count: end.favoritedDate, of: kinds, commits: commits)
    let newShapes = try NewOrKnown(try table.ints(.shapeIndices, count: end.shape), what: "a shape")
    shapeIndices = newShapes.indices
    (shapes, shapeRowByteCount, values, words) = try Self.shapes(&table, newShapes, texts: &texts)
    eventMembers = try table.opaque(.eventMembers, count: end.members) {
      (reader) throws(MalformedError) in try RowEncoding.readCheckedMembers(from: &reader)
    }
    withheldHashes = try table.opaque(.withheldHashes, count: end.withheld) {
      (reader) throws(MalformedError) in try reader.digest()
    }
    unknownEvents = try table.opaque(.unknownEvents, count: end.unknown) {
      (reader) throws(MalformedError) in
      let record = EventRecord.unknown(kind: try reader.varint(), bytes: Array(try reader.lengthAndBytes()))
      try record.validate(wallTime: 0)
      return record
    }
    try table.end()
    self.texts = texts.finish()
    assert(
      itemIndices.count == end.item && shapeIndices.count == end.shape
        && favoritedDates.count == end.favoritedDate, "each event has its values in the columns")
  }

  private static func items(
    _ table: inout ColumnReader, count: Int, texts: inout TextBuilder
  ) throws(MalformedError) -> (libraries: [String], items: [Item]) {
    // Their ids are read before the last of these is used.
    let itemLibraries = try table.array(.itemLibraries, count: count)
    let libraryCount = try itemLibraries.withUnsafeBufferPointer { (indices) throws(MalformedError) in
      try firstUses(indices, what: "a library")
    }
    let libraries = try table.table(.libraries, count: libraryCount)
    for library in libraries { try NameRules.checkLibrary(library) }
    var ends = [Int](repeating: 0, count: libraryCount)
    for library in itemLibraries { ends[Int(library)] += 1 }
    // The ids of each library one after the other; `ends` is changed to the start of each library's ids.
    let slices: [Int64] = try Array(count: count) { (output) throws(MalformedError) in
      var start = 0
      for library in 0..<libraryCount {
        let ids = UnsafeMutableBufferPointer(rebasing: output[start..<start + ends[library]])
        let traits = try table.texts(.items(library: library), into: ids, texts: &texts)
        try check(ids: UnsafeBufferPointer(ids), traits, texts)
        ends[library] = start
        start += ids.count
      }
    }
    let items: [Item] = try Array(count: count) { (output) throws(MalformedError) in
      for (index, itemLibrary) in itemLibraries.enumerated() {
        let library = Int(itemLibrary)
        output.initializeElement(
          at: index,
          to: Item(library: Int32(truncatingIfNeeded: library), id: TextSlice(word: slices[ends[library]])))
        ends[library] += 1
      }
    }
    return (libraries, items)
  }

  private static func check(
    ids: UnsafeBufferPointer<Int64>, _ traits: TextTraits, _ texts: borrowing TextBuilder
  ) throws(MalformedError) {
    if traits.isPrintable, traits.shortest > 0, traits.longest <= Limits.itemBytesMax { return }
    for id in ids { try MalformedError.check(NameRules.itemProblem(texts.bytes(TextSlice(word: id)))) }
  }

  private static func favoritedDates(
    _ table: inout ColumnReader, count: Int, of kinds: [EventHeader], commits: CommitColumns
  ) throws(MalformedError) -> [Milliseconds] {
    guard count > 0 else { return [] }
    return try Array(count: count) { (dates) throws(MalformedError) in
      // As stored: the dates minus the wall times of their commits.
      try table.ints(.favoritedDates, into: dates)
      var next = 0
      for index in 0..<commits.count {
        let wallTime = commits.wallTimes[index]
        for event in Int(commits.eventStarts[index])..<Int(commits.eventStarts[index + 1])
        where kinds[event].hasFavoritedDate {
          let (date, overflow) = wallTime.addingReportingOverflow(dates[next])
          guard !overflow else { throw MalformedError("a favorited date past 64 bits") }
          try Event.checkFavoritedDate(date, wallTime: wallTime)
          dates[next] = date
          next += 1
        }
      }
    }
  }

  /// Indices in a table that is filled by first use, so that each is at most one more than those before it.
  /// Returns the size of the table.
  static func firstUses(
    _ indices: UnsafeBufferPointer<Int64>, what: StaticString
  ) throws(MalformedError) -> Int {
    var count: Int64 = 0
    for index in indices {
      guard index >= 0, index <= count else { throw MalformedError("\(what) at place \(index) of \(count)") }
      if index == count { count += 1 }
    }
    return Int(count)
  }

  /// A column in which 0 means the next new entry, and other numbers the index of a known one, from 1.
  struct NewOrKnown {
    let indices: [Int32]
    let distinctCount: Int

    /// - Parameter values: at most `Limits.blockEventsMax`.
    init(_ values: UnsafeMutableBufferPointer<Int64>, what: StaticString) throws(MalformedError) {
      var distinct: Int64 = 0
      indices = try Array(count: values.count) { (indices) throws(MalformedError) in
        for (index, value) in values.enumerated() {
          guard UInt64(bitPattern: value) <= UInt64(bitPattern: distinct) else {
            throw MalformedError("\(what) at place \(value) of \(distinct)")
          }
          let entry = value == 0 ? distinct : value &- 1
          indices.initializeElement(at: index, to: Int32(truncatingIfNeeded: entry))
          distinct &+= value == 0 ? 1 : 0
        }
      }
      distinctCount = Int(distinct)
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

extension BlockColumns {
  /// The position in each column. The columns' counts were taken from `kinds` and `shapes`, so no column ends
  /// early.
  package struct Cursor: Sendable {
    package var event = 0
    package var item = 0
    package var favoritedDate = 0
    package var shape = 0
    var members = 0
    var withheld = 0
    var unknown = 0
    /// For each value column, an index in `words`.
    package var values: [Int]

    /// Passes an event, except the values of its fields.
    @inline(__always)
    mutating func pass(_ kind: EventHeader) {
      event += 1
      if kind.isEvent {
        item += 1
      } else if kind == .withheld {
        withheld += 1
      } else {
        unknown += 1
      }
      if kind.hasFavoritedDate { favoritedDate += 1 }
      if kind.hasFields { shape += 1 }
      if kind.hasMembers { members += 1 }
    }
  }

  /// A cursor before the first event.
  package var start: Cursor { Cursor(values: values.map(\.range.lowerBound)) }

  /// Skips events.
  package func skip(_ count: Int, _ cursor: inout Cursor) {
    // Events of one shape usually follow each other: their members are visited once.
    var shape: Int32 = 0
    var uses = 0
    for kind in kinds[cursor.event..<cursor.event + count] {
      if kind.hasFields {
        let next = shapeIndices[cursor.shape]
        if next != shape {
          skip(uses, of: shape, &cursor)
          uses = 0
        }
        shape = next
        uses += 1
      }
      cursor.pass(kind)
    }
    skip(uses, of: shape, &cursor)
    assert(
      cursor.item <= itemIndices.count && cursor.shape <= shapeIndices.count,
      "a cursor stays within the columns")
  }

  /// Skips the values of events of one shape.
  @inline(__always)
  private func skip(_ uses: Int, of shape: Int32, _ cursor: inout Cursor) {
    guard uses > 0 else { return }
    for member in shapes[Int(shape)].members {
      if let column = member.values { cursor.values[column] += uses }
    }
  }

  /// The value of a member with that tag; if it has a column, the value of the word there. Its bytes are valid as long as the columns.
  @inline(__always)
  package func value(_ word: Int64, tag: UInt8) -> BorrowedValue {
    let text = TextSlice(word: word)
    return BorrowedValue(tag: tag, number: { word }, text: { texts.bytes(text) })
  }
}

extension ColumnBlock {
  /// Throws if the row encodings of the commits, all that were read, would exceed the size allowed for a block.
  func checkRowByteCount() throws(MalformedError) {
    if columns.rowByteCountBound <= Limits.blockRowBytesMax { return }
    assert(rowByteCount <= columns.rowByteCountBound, "no row is larger than its bound")
    try Block.validateRowByteCount(rowByteCount - columns.withheldHashes.count * Digest.byteCount)
  }

  /// The total size of the row encodings of the commits: `RowEncoding.byteCount(of:)` of each.
  var rowByteCount: Int {
    let commits = columns.commits
    var events = BlockEvents(self)
    return RowEncoding.byteCount { writer in
      for index in commitIndices {
        RowEncoding.write(
          header(at: index), origin: commits.origin(at: index), heads: commits.heads[index] ?? [],
          unknownMembers: commits.members[index] ?? [], to: &writer)
        for _ in 0..<commits.eventCount(at: index) {
          events.write(to: &writer)
          events.pass()
        }
      }
    }
  }
}

extension BlockColumns {
  /// An upper bound of `rowByteCount` of the whole block, computed without reading any event: sufficient for most blocks.
  var rowByteCountBound: Int {
    let varintMax = 10
    // Presence, stamp, wall time, sequence number and number of events.
    let originMax = commits.origins.reduce(0) { max($0, $1.utf8.count) }
    var count = commits.count * (1 + 8 + 3 * varintMax + ByteWriter.lengthAndBytesByteCount(originMax))
    let libraryMax = libraries.reduce(0) { max($0, $1.utf8.count) }
    let itemMax = items.reduce(0) { max($0, $1.id.count) }
    count +=
      itemIndices.count
      * (ByteWriter.lengthAndBytesByteCount(libraryMax) + ByteWriter.lengthAndBytesByteCount(itemMax))
    count += kinds.count + varintMax * favoritedDates.count + shapeRowByteCount + partsByteCount
    for column in values { count += varintMax * column.range.count + column.byteCount }
    return count
  }

  /// Heads and members of commits, members of events, withheld records, and records of a later version.
  private var partsByteCount: Int {
    RowEncoding.byteCount { writer in
      for heads in commits.heads.values { RowEncoding.write(heads: heads, to: &writer) }
      for members in commits.members.values + eventMembers {
        RowEncoding.write(members: members, to: &writer)
      }
      for hash in withheldHashes { RowEncoding.write(.withheld(hash), to: &writer) }
      for record in unknownEvents { RowEncoding.write(record, to: &writer) }
    }
  }
}

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
    assert(
      wallTimes.count == commitCount && originIndices.count == commitCount
        && eventStarts.count == commitCount + 1, "each commit has a value in each column")
    assert(
      eventStarts[0] == 0 && eventStarts[commitCount] == Int32(eventCount), "each event belongs to a commit")
    assert(zip(stamps, stamps.dropFirst()).allSatisfy { $0 < $1 }, "stamps rise along a stream")
  }

  /// The numbers of a column that mostly has a single value.
  private struct Values {
    /// The value of all of them; nil if they differ.
    let constant: Int64?
    private let values: [Int64]

    init(_ table: inout ColumnReader, _ key: ColumnKey, count: Int) throws(MalformedError) {
      constant = try table.constant(key, count: count)
      values = constant != nil ? [] : try table.array(key, count: count)
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
